"""Connects workers that are kernels, by models of VNx's cmac kernels, to a P4SGD switch.

The switch stands alone, or is a plugin in OpenNIC's box.
"""

from dataclasses import field

from amaranth.hdl import ClockSignal, Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params, tagged
from hdl.vitis.worker_kernel import WorkerKernel
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.surroundings.network import Network
from sim.surroundings.cmac_kernel import CmacKernel
from tests.hdl.vitis.boxed_network import BoxedNetwork

INNER = ("ap_clk", "ap_rst_n", "m_axis", "s_axis")  #: ports of a kernel that lead to no host


class KernelClusterParams(Params, suffix="{cluster.suffix}"):
    """Says which cluster it is, and whether its switch is in the box."""

    cluster: ClusterParams = field(default_factory=ClusterParams)
    boxed: bool = tagged("_boxed", default=False)


class KernelCluster(Component):
    """Workers with all buses of their hosts and memories: ``kernel_K_`` and the port's name."""

    groups_of = WorkerKernel  #: of functional coverage

    def __init__(self, params: KernelClusterParams) -> None:
        cluster = params.cluster
        self.kernels = [WorkerKernel(cluster.worker) for _ in range(cluster.workers)]
        members = self.kernels[0].signature.members
        self.outer = {name: member for name, member in members.items() if name not in INNER}
        ports = {
            f"kernel_{k}_{name}": member
            for k in range(cluster.workers)
            for name, member in self.outer.items()
        }
        ports |= {f"lost_{k}": Out(16) for k in range(cluster.workers)}
        network = {
            "s_axil_switch": In(cluster.network.axil),
            "link": In(cluster.network.link.settings),
        }
        super().__init__(params, ports | network)

    def elaborate(self, platform):
        m = Module()
        kind = BoxedNetwork if self.params.boxed else Network
        m.submodules.network = network = kind(self.params.cluster.network)
        connect(m, flipped(self.s_axil_switch), network.s_axil)
        running = Signal(reset_less=True)
        m.d.comb += network.link.eq(self.link)
        m.d.sync += running.eq(~ResetSignal())
        for k, kernel in enumerate(self.kernels):
            m.submodules[f"kernel_{k}"] = kernel
            m.submodules[f"cmac_{k}"] = cmac = CmacKernel()
            m.d.comb += [kernel.ap_clk.eq(ClockSignal()), kernel.ap_rst_n.eq(running)]
            connect(m, kernel.m_axis, cmac.s_axis)
            connect(m, cmac.m_axis, kernel.s_axis)
            connect(m, cmac.to_link, network.from_workers[k])
            connect(m, network.to_workers[k], cmac.of_link)
            m.d.comb += getattr(self, f"lost_{k}").eq(cmac.lost)
            for name, member in self.outer.items():
                own, part = getattr(self, f"kernel_{k}_{name}"), getattr(kernel, name)
                if member.is_port:
                    m.d.comb += own.eq(part)
                    continue
                pairs = zip(own, part, strict=True) if member.dimensions else [(own, part)]
                for outside, inside in pairs:
                    connect(m, flipped(outside), inside)
        return m
