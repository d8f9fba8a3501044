"""Connects a worker and its memories in one simulated design; Python need not serve memories."""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from sim.surroundings.axi_ram import AxiRam, AxiRamParams


def memory_params(params: WorkerParams) -> AxiRamParams:
    """Return the sizes of the memory behind each port of a worker."""
    return AxiRamParams(
        address_bits=params.address_bits, data_bits=PORT_BITS, read_only=True, bursts=64
    )


def weight_memory_params(params: WorkerParams) -> AxiRamParams:
    """Return the sizes of the memory of an engine's weights."""
    return AxiRamParams(address_bits=params.weight_address_bits, data_bits=PORT_BITS, bursts=64)


def memory_count(params: WorkerParams) -> int:
    """Return the number of memories of a worker: for words, the labels', and for weights."""
    return params.sets * params.ports + 1 + params.movers


class WorkerSystem(Component):
    """Connects a :class:`Worker` and an :class:`AxiRam` behind each of its memory ports.

    Memory i (the word ports in order, then the labels, then the weights of engines if they are in
    memory, from ``first_memory`` on) holds the file that ``+ram_<i>=FILE`` names; ports that give
    the words once more have files of their number in the first half. ``memory`` sets the timing of
    all; its ``fail_read`` holds for memory ``fail_index`` only. ``missing`` counts beats that were
    read beyond the end of a file.
    """

    def __init__(self, params: WorkerParams) -> None:
        bus = model_bus(params)
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=worker_registers(params).address_bits)),
            s_axi_model=In(
                Axi4Signature(
                    address_bits=bus.address_bits, data_bits=bus.data_bits, id_bits=bus.id_bits
                )
            ),
            memory=In(memory_params(params).settings),
            first_memory=In(8),
            fail_index=In(8),
            m_axis=Out(AXIS),
            s_axis=In(AXIS),
            busy=Out(1),
            missing=Out(32),
        )

    def build(self, m: Module) -> None:
        m.submodules.worker = worker = Worker(self.params)
        connect(m, flipped(self.s_axil), worker.s_axil)
        connect(m, flipped(self.s_axi_model), worker.s_axi_model)
        connect(m, worker.m_axis, flipped(self.m_axis))
        connect(m, flipped(self.s_axis), worker.s_axis)
        m.d.comb += self.busy.eq(worker.busy)
        missing = Const(0, 32)
        words = self.params.sets * self.params.ports
        ports = [(k % words, port) for k, port in enumerate(worker.m_axi_words)]
        ports.append((words, worker.m_axi_labels))
        if self.params.movers:
            ports += enumerate(worker.m_axi_weights, words + 1)
        for k, (index, port) in enumerate(ports):
            sizes = memory_params if index <= words else weight_memory_params
            params = sizes(self.params)
            m.submodules[f"memory_{k}"] = memory = AxiRam(params)
            connect(m, port, memory.axi)
            settings = Signal(data.Layout.cast(params.settings))
            m.d.comb += [
                *(
                    settings[name].eq(low_bits(self.memory[name], len(Value.cast(settings[name]))))
                    for name in params.settings.members
                ),
                settings.fail_read.eq(self.memory.fail_read & (self.fail_index == memory.index)),
                memory.index.eq((self.first_memory + index)[: len(memory.index)]),
                memory.settings.eq(settings),
            ]
            missing = missing + memory.missing
        m.d.comb += self.missing.eq(missing[: len(self.missing)])
