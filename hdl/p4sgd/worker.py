"""Implements a worker: engines in lock step, their readers, the loss, registers and counters."""

from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.p4sgd.core.engine_chain import EngineChain
from hdl.p4sgd.host.control import RESET_CYCLES
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.memory.hbm_reader import port_reader
from hdl.p4sgd.memory.weight_mover import WeightMover
from hdl.p4sgd.worker_host import (
    allow_model_access,
    connect_counters,
    connect_engine_counters,
    connect_settings,
    connect_status,
)
from hdl.p4sgd.worker_latencies import worker_latencies
from hdl.p4sgd.worker_memory import (
    connect_labels,
    connect_weights,
    connect_words,
    halt_readers,
    plan_labels,
    watch_memory,
    watch_readers,
)
from hdl.p4sgd.worker_network import connect_exchange, connect_network
from hdl.p4sgd.worker_params import WorkerParams
from hdl.p4sgd.worker_parts import WorkerParts, add_parts


class Worker(Component):
    """Trains its part of a model on its part of the data (P4SGD, section 4.1, Algorithm 1).

    Words come over ``m_axi_words``: side by side over the first ports those of engine 0, then those
    of engine 1, and so on. With a ``tile`` the model is in memory: the words come once more over as
    many ports, and ``m_axi_weights`` read and write each engine's weights. Labels come over
    ``m_axi_labels``. The host sets and starts a run through ``s_axil``
    (:mod:`hdl.p4sgd.host.registers`) and loads and reads weights through ``s_axi_model``
    (:class:`ModelPort`) in the idle state. ``m_axis`` sends the partial activations of each
    micro-batch to the switch and ``s_axis`` takes the full ones (:class:`Transport`); with the
    ``join`` setting the two are the same, for a single worker. ``busy`` is the field of that name
    in the register ``state``, as a wire for an interrupt.

    With ``params.classes`` above 1, it trains as many models, one of each class, in one pass over
    the data (:class:`EngineSet`): engines are in sets of one for each class, words are those of a
    set, labels come class after class in each micro-batch, and so do activations and deltas.

    Throughput: a word per engine and cycle, as long as memory delivers. A mini-batch then takes
    ``(B / K) C s + T`` cycles, where ``T`` is the time from its last word to the first word of the
    next mini-batch; :attr:`latencies` has the parts of ``T``. A micro-batch takes at least 5
    cycles, or 6 with the L2 term. With ``params.classes`` above 1, it takes at least a cycle for
    each class, or two with 16 banks.

    Errors stop the worker, with a cause in ``state``: an error answer of the memory, an answer with
    more or fewer beats than requested, a memory that does not answer within ``memory_timeout``, an
    illegal setting, and a read plan that does not fit the run. So do, unless ``retries`` or
    ``peer_retries`` is 0, a switch that does not answer and other workers that are missing.
    ``soft_reset`` recovers the worker. Settings stay; weights must be loaded again, because the two
    copies of weights that were being updated may differ, and a job must be started again. A frame
    that was offered on ``m_axis`` stays until it is taken. Saturations are counted by kind.
    """

    register_map = staticmethod(worker_registers)

    def __init__(self, params: WorkerParams) -> None:
        self.registers = worker_registers(params)
        self.latencies = worker_latencies(params)
        self.reset_cycles = EngineChain(params).reset_cycles
        port = port_reader(params).port.read_bus
        bus = model_bus(params)
        model = Axi4Signature(
            address_bits=bus.address_bits, data_bits=bus.data_bits, id_bits=bus.id_bits
        )
        weights = {}
        if params.movers:
            weights["m_axi_weights"] = Out(WeightMover(params).signature.members["axi"].signature)
            weights["m_axi_weights"] = weights["m_axi_weights"].array(params.movers)
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            s_axi_model=In(model),
            m_axi_words=Out(port).array(params.readers * params.ports),
            **weights,
            m_axi_labels=Out(port),
            m_axis=Out(AXIS),
            s_axis=In(AXIS),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        parts = add_parts(m, self.params, self.registers)
        self.add_core_domain(m, parts)
        connect_exchange(m, parts)
        connect_network(m, parts, self.m_axis, self.s_axis)
        connect_words(m, parts, self.m_axi_words)
        if self.params.movers:
            connect_weights(m, parts, self.m_axi_weights)
        connect(m, flipped(self.s_axil), parts.registers.axil)
        connect(m, flipped(self.s_axi_model), parts.model_port.s_axi)
        connect_labels(m, parts, self.m_axi_labels)
        connect_engine_counters(m, parts)
        connect_settings(m, parts)
        plan_labels(m, parts)
        halt_readers(m, parts)
        allow_model_access(m, parts)
        connect_counters(m, parts)
        watch_readers(m, parts)
        watch_memory(m, parts)
        connect_status(m, parts)
        m.d.comb += self.busy.eq(parts.control.busy)

    def add_core_domain(self, m: Module, parts: WorkerParts) -> None:
        """Make the clock domain of the core, which a soft reset resets as well.

        A register drives its reset, which has thousands of loads, and holds it as long as all dies
        need.
        """
        assert self.reset_cycles <= RESET_CYCLES
        m.domains.core = ClockDomain(local=True)
        reset = Signal(name="core_reset", init=1, reset_less=True)
        m.d.sync += reset.eq(ResetSignal() | parts.control.core_reset)
        m.d.comb += [ClockSignal("core").eq(ClockSignal()), ResetSignal("core").eq(reset)]
