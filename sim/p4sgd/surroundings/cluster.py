"""Connects workers with their memories, a switch and the links between them in one design."""

from dataclasses import field

from amaranth.hdl import Const, Module
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.common.component import Component
from hdl.common.params import Params
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.surroundings.network import Network, NetworkParams
from sim.p4sgd.surroundings.worker_system import WorkerSystem, memory_count, memory_params
from sim.surroundings.link import LINK_COUNTS


class ClusterParams(Params, suffix="{network.suffix}_{worker.suffix}"):
    """Sets the sizes of a cluster."""

    worker: WorkerParams = field(default_factory=WorkerParams)
    network: NetworkParams = field(default_factory=NetworkParams)

    def __post_init__(self) -> None:
        super().__post_init__()
        memories = self.workers * memory_count(self.worker)
        if memories > 256:
            raise ValueError(f"a simulation has at most 256 memories: {memories}; fewer workers")

    @property
    def workers(self) -> int:
        """Return M, the number of workers."""
        return self.network.workers


def worker_buses(worker: WorkerParams, count: int) -> dict[str, Member]:
    """Return the ports by which a host drives ``count`` workers."""
    bus = model_bus(worker)
    model = Axi4Signature(
        address_bits=bus.address_bits, data_bits=bus.data_bits, id_bits=bus.id_bits
    )
    axil = AxiLiteSignature(address_bits=worker_registers(worker).address_bits)
    return {
        "s_axil": In(axil).array(count),
        "s_axi_model": In(model).array(count),
        "busy": Out(1).array(count),
    }


class ClusterSystem(Component):
    """Connects M :class:`WorkerSystem` by a :class:`Network`.

    Worker m is at port m of the switch; its memories have the numbers from ``m * memory_count``
    on. ``memory`` and ``fail_index`` are those of every worker, ``link``, ``cut`` and ``counts``
    those of the network.
    """

    def __init__(self, params: ClusterParams) -> None:
        worker, count = params.worker, params.workers
        super().__init__(
            params,
            **worker_buses(worker, count),
            s_axil_switch=In(params.network.axil),
            memory=In(memory_params(worker).settings),
            fail_index=In(8),
            link=In(params.network.link.settings),
            cut=In(count),
            counts=Out(LINK_COUNTS),
            missing=Out(32),
        )

    def build(self, m: Module) -> None:
        m.submodules.network = network = Network(self.params.network)
        connect(m, flipped(self.s_axil_switch), network.s_axil)
        m.d.comb += [
            network.link.eq(self.link),
            network.cut.eq(self.cut),
            self.counts.eq(network.counts),
        ]
        missing = Const(0, 32)
        for k in range(self.params.workers):
            m.submodules[f"worker_{k}"] = worker = WorkerSystem(self.params.worker)
            connect(m, flipped(self.s_axil[k]), worker.s_axil)
            connect(m, flipped(self.s_axi_model[k]), worker.s_axi_model)
            connect(m, worker.m_axis, network.from_workers[k])
            connect(m, network.to_workers[k], worker.s_axis)
            m.d.comb += [
                worker.memory.eq(self.memory),
                worker.fail_index.eq(self.fail_index),
                worker.first_memory.eq(k * memory_count(self.params.worker)),
                self.busy[k].eq(worker.busy),
            ]
            missing = missing + worker.missing
        m.d.comb += self.missing.eq(missing[: len(self.missing)])
