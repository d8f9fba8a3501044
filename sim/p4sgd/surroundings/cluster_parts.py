"""Cuts a simulated cluster at its links: a worker, or the switch, with its ends of the links.

A worker's number is an input, so that one simulator serves for all workers of all clusters.
"""

from amaranth.hdl import Cat, Const, Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.surroundings.cluster import worker_buses
from sim.p4sgd.surroundings.network import NetworkParams
from sim.p4sgd.surroundings.worker_system import WorkerSystem, memory_count, memory_params
from sim.surroundings.cut_link import add_cut_links
from sim.surroundings.link import LINK_COUNTS, LinkParams, add_up


class WorkerPartParams(Params, suffix="{worker.suffix}_{link.suffix}"):
    """Sets a worker of a cluster, and its links."""

    worker: WorkerParams
    link: LinkParams


class WorkerPart(Component):
    """Connects worker ``number`` to its ends of the links from and to the switch.

    Its other ports are those of :class:`~sim.p4sgd.surroundings.cluster.ClusterSystem` with one
    worker; ``counts`` are of its ends of the links.
    """

    def __init__(self, params: WorkerPartParams) -> None:
        super().__init__(
            params,
            **worker_buses(params.worker, 1),
            number=In(8),
            memory=In(memory_params(params.worker).settings),
            fail_index=In(8),
            link=In(params.link.settings),
            counts=Out(LINK_COUNTS),
            missing=Out(32),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.worker = worker = WorkerSystem(params.worker)
        connect(m, flipped(self.s_axil[0]), worker.s_axil)
        connect(m, flipped(self.s_axi_model[0]), worker.s_axi_model)
        first = self.number * memory_count(params.worker)
        m.d.comb += [
            worker.memory.eq(self.memory),
            worker.fail_index.eq(self.fail_index),
            worker.first_memory.eq(first[: len(worker.first_memory)]),
            self.busy[0].eq(worker.busy),
            self.missing.eq(worker.missing),
        ]
        up = Cat(Const(0, 1), self.number)[:8]
        ends = [(worker.m_axis, worker.s_axis, up)]
        add_up(m, self.counts, add_cut_links(m, params.link, self.link, ends))


class SwitchPart(Component):
    """Connects the switch of a network to its ends of the links from and to all workers.

    Its ports are those of :class:`~sim.p4sgd.surroundings.network.Network`; ``counts`` are of its
    ends of the links.
    """

    def __init__(self, params: NetworkParams) -> None:
        super().__init__(
            params,
            s_axil_switch=In(params.axil),
            link=In(params.link.settings),
            counts=Out(LINK_COUNTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.switch = switch = Switch(self.params.switch)
        connect(m, flipped(self.s_axil_switch), switch.s_axil)
        ports = range(self.params.workers)
        ends = [(switch.m_axis[k], switch.s_axis[k], 2 * k + 1) for k in ports]
        add_up(m, self.counts, add_cut_links(m, self.params.link, self.link, ends))
