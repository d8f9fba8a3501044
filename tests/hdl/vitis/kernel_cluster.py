"""Connects workers that are kernels, by models of VNx's cmac kernels, to a P4SGD switch.

The switch stands alone, or is a plugin in OpenNIC's box.
"""

from dataclasses import field

from amaranth.lib.wiring import In, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params, tagged
from hdl.vitis.kernels import WorkerKernel
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.surroundings.network import Network
from tests.hdl.vitis.boxed_network import BoxedNetwork
from tests.hdl.vitis.kernel_on_cmacs import KernelOnCmacs, KernelOnCmacsParams, lead_out

INNER = ("m_axis", "s_axis")  #: ports of a kernel that lead to the network


class KernelClusterParams(Params, suffix="{cluster.suffix}"):
    """Says which cluster it is, and whether its switch is in the box."""

    cluster: ClusterParams = field(default_factory=ClusterParams)
    boxed: bool = tagged("_boxed", default=False)


class KernelCluster(Component):
    """Workers with all buses of their hosts and memories: ``kernel_K_`` and the port's name."""

    groups_of = WorkerKernel  #: of functional coverage

    def __init__(self, params: KernelClusterParams) -> None:
        cluster = params.cluster
        kernel = KernelOnCmacsParams(kernel="WorkerKernel", design=cluster.worker)
        self.kernels = [KernelOnCmacs(kernel) for _ in range(cluster.workers)]
        members = self.kernels[0].signature.members
        self.outer = {name: member for name, member in members.items() if name not in INNER}
        ports = {
            f"kernel_{k}_{name}": member
            for k in range(cluster.workers)
            for name, member in self.outer.items()
        }
        network = {
            "s_axil_switch": In(cluster.network.axil),
            "link": In(cluster.network.link.settings),
        }
        super().__init__(params, ports | network)

    def build(self, m):
        kind = BoxedNetwork if self.params.boxed else Network
        m.submodules.network = network = kind(self.params.cluster.network)
        connect(m, flipped(self.s_axil_switch), network.s_axil)
        m.d.comb += network.link.eq(self.link)
        for k, kernel in enumerate(self.kernels):
            m.submodules[f"kernel_{k}"] = kernel
            connect(m, kernel.m_axis, network.from_workers[k])
            connect(m, network.to_workers[k], kernel.s_axis)
            lead_out(m, self.outer, kernel, self, f"kernel_{k}_")
