"""A worker: engines in lock step, their readers, the loss, registers and counters."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.axi import Axi4Signature, AxiLiteSignature, AxiReadSignature
from hdl.common.bus_watch import BusTimer, BusTimerParams
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.register_block import RegisterBlock
from hdl.common.streams import StreamRegisterParams, StreamSkid
from hdl.p4sgd.core.engine_chain import EngineChain
from hdl.p4sgd.core.partial_sum import PartialSum
from hdl.p4sgd.core.training_core import TrainingCore
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.host.control import Control
from hdl.p4sgd.host.counters import COUNTERS, Counters
from hdl.p4sgd.host.model_address import model_bus
from hdl.p4sgd.host.model_port import ModelPort
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.loss.loss_unit import LossUnit
from hdl.p4sgd.memory.hbm_reader import HbmReader
from hdl.p4sgd.memory.label_reader import LabelReader
from hdl.p4sgd.network.batch_gate import BatchGate
from hdl.p4sgd.network.frame import FRAME_KEEP, Frame
from hdl.p4sgd.network.model_exchange import ModelExchange
from hdl.p4sgd.transport.registers import network_values
from hdl.p4sgd.transport.transport import Transport
from hdl.p4sgd.worker_params import LOSS_SETTINGS, WorkerParams

OVER_DIES = "deltas to engines of other dies, and their partials back"  #: in ``latencies``


class Worker(Component):
    """Trains its part of a model on its part of the data: P4SGD, section 4.1, Algorithm 1.

    Words come over ``m_axi_words`` (ports 2e and 2e + 1 of engine e side by side, or port e where
    a word is 256 bits), labels over ``m_axi_labels``. The host sets and starts a run through
    ``s_axil`` (:mod:`hdl.p4sgd.host.registers`) and loads and reads weights through ``s_axi_model``
    (:class:`ModelPort`) in the idle state. ``m_axis`` sends the partial
    activations of each micro-batch to the switch and ``s_axis`` takes the full ones
    (:class:`Transport`); with the ``join`` setting the two are the same, for a single worker.
    ``busy`` is the state's field as a wire, for an interrupt.

    Throughput: a word per engine and cycle, as long as memory delivers. A mini-batch then takes
    ``(B / K) C s + T`` cycles, with ``T`` from its last word in to the next mini-batch's first;
    :attr:`latencies` has its parts. A micro-batch of fewer than 5 words takes 5 cycles, with the
    L2 term 6.

    An error answer of the memory, one with more or fewer beats than asked for, a memory that does
    not answer within ``memory_timeout``, an illegal setting, a read plan that does not fit the run
    or, unless ``retries`` or ``peer_retries`` is 0, a switch that does not answer or other workers
    that do not come stop the worker with a cause in ``state``. ``soft_reset`` recovers it: settings
    stay, weights are to be loaded anew, as the two copies of those that were being updated may
    differ, and a job has to be started anew. A frame that was offered on ``m_axis`` stays until it
    is taken. Saturations are counted by kind.
    """

    register_map = staticmethod(worker_registers)

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        self.registers = worker_registers(params)
        partial_sum = PartialSum(params).latency
        self.latencies = Engine(engine).latencies | {
            "partials to deltas, linear and hinge": partial_sum + LossUnit.latency,
            "partials to deltas, logistic": partial_sum + LossUnit.logistic_latency,
            "partial activation to its frame": Transport.send_latency,
            "frame to full activation": Transport.receive_latency,
        }
        if params.slrs > 1:
            self.latencies[OVER_DIES] = EngineChain(params).latency
        port = AxiReadSignature(address_bits=params.address_bits, data_bits=PORT_BITS)
        bus = model_bus(params)
        model = Axi4Signature(
            address_bits=bus.address_bits, data_bits=bus.data_bits, id_bits=bus.id_bits
        )
        super().__init__(
            params,
            {
                "s_axil": In(AxiLiteSignature(address_bits=self.registers.address_bits)),
                "s_axi_model": In(model),
                "m_axi_words": Out(port).array(params.engines * params.ports),
                "m_axi_labels": Out(port),
                "m_axis": Out(AXIS),
                "s_axis": In(AXIS),
                "busy": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.control = control = Control(params)
        m.submodules.counters = counters = Counters(params)
        m.submodules.labels = labels = LabelReader(params)
        m.submodules.model_port = model_port = ModelPort(params)
        core = TrainingCore(params)
        self.add_core(m, core, control.core_reset)
        exchange = self.add_exchange(m, core, model_port, control)
        transport = self.add_network(m, core, exchange, registers.control, control)
        readers = self.add_readers(m, core, registers.control, control)
        connect(m, flipped(self.s_axil), registers.axil)
        connect(m, flipped(self.s_axi_model), model_port.s_axi)
        connect(m, labels.m_axi, flipped(self.m_axi_labels))
        connect(m, labels.labels, core.labels)
        for e in range(params.engines):
            m.d.comb += counters.engine_events[e].eq(core.engine_events[e])

        settings = registers.control
        m.d.comb += [
            core.settings[name].eq(low_bits(settings[name], len(core.settings[name])))
            for name in params.engine.settings.members
        ]
        m.d.comb += [core.loss[name].eq(settings[name]) for name in LOSS_SETTINGS.members]
        m.d.comb += [
            core.join.eq(settings.join | settings.data_parallel),
            core.begin.eq(control.begin),
            *(control.settings[name].eq(settings[name]) for name in params.settings.members),
            control.loss.eq(core.loss),
            control.word_address.eq(Cat(settings.word_address_low, settings.word_address_high)),
            control.label_address.eq(Cat(settings.label_address_low, settings.label_address_high)),
            control.start.eq(settings.start),
            control.soft_reset.eq(settings.soft_reset),
            labels.plan.valid.eq(control.begin),
            labels.plan.payload.address.eq(low_bits(control.label_address, params.address_bits)),
            labels.plan.payload.beats.eq(settings.label_beats),
            labels.plan.payload.runs.eq(1),
            labels.plan.payload.epochs.eq(settings.epochs),
            labels.micro_batches.eq(settings.epoch_micro_batches),
            labels.halt.eq(control.halt),
            model_port.allow.eq(control.idle),
            control.model_busy.eq(model_port.busy),
            counters.clear.eq(settings.clear_counters),
            counters.running.eq(control.running),
            counters.events.eq(core.events),
            counters.network_events.eq(transport.events),
            counters.outstanding.eq(transport.outstanding),
            counters.read_errors.eq(Cat((reader.failed for reader in readers), labels.failed)),
        ]
        self.watch(m, core, control, readers, labels)
        self.watch_memory(m, registers, control, counters, readers, labels)
        self.report(m, registers.status, control, counters, transport)
        return m

    def add_core(self, m: Module, core: TrainingCore, core_reset) -> None:
        """The core, in a clock domain of its own that a soft reset resets as well."""
        m.domains.core = ClockDomain(local=True)
        m.submodules.core = DomainRenamer("core")(core)
        m.d.comb += [
            ClockSignal("core").eq(ClockSignal()),
            ResetSignal("core").eq(ResetSignal() | core_reset),
        ]

    def add_exchange(
        self, m: Module, core: TrainingCore, model_port: ModelPort, control: Control
    ) -> ModelExchange:
        """What stands between the engines' weights, the host and the network."""
        m.submodules.exchange = exchange = DomainRenamer("core")(ModelExchange(self.params))
        for e in range(self.params.engines):
            connect(m, model_port.load[e], exchange.host_load[e])
            connect(m, model_port.peek[e], exchange.host_peek[e])
            connect(m, exchange.host_peeked[e], model_port.peeked[e])
            connect(m, exchange.load[e], core.load[e])
            connect(m, exchange.peek[e], core.peek[e])
            connect(m, core.peeked[e], exchange.peeked[e])
        m.d.comb += [
            exchange.settings.eq(core.settings),
            exchange.begin.eq(control.begin),
            exchange.updated.eq(core.updated),
            exchange.engines_finished.eq(core.finished),
            core.exchanging.eq(exchange.exchanging),
            core.refill.eq(exchange.refill),
            control.finished.eq(exchange.finished),
        ]
        return exchange

    def add_network(
        self, m: Module, core: TrainingCore, exchange: ModelExchange, settings, control: Control
    ) -> Transport:
        """The way to the switch, reset with the core, and the gate of vanilla order."""
        m.submodules.transport = transport = DomainRenamer("core")(Transport(self.params.transport))
        m.submodules.gate = gate = DomainRenamer("core")(BatchGate(self.params.engine))
        connect(m, core.partial, exchange.partial)
        connect(m, exchange.full, core.full)
        connect(m, exchange.network_partial, transport.partial)
        connect(m, transport.full, exchange.network_full)
        self.send(m, transport)
        connect(m, flipped(self.s_axis), transport.s_axis)
        for name, value in network_values(settings).items():
            m.d.comb += [transport.settings[name].eq(value), control.network[name].eq(value)]
        m.d.comb += [
            transport.clear.eq(settings.start_job & control.idle),
            transport.allowed.eq(gate.allowed),
            *(gate.lengths[name].eq(core.settings[name]) for name, _ in gate.params.lengths),
            gate.start.eq(control.begin),
            gate.vanilla.eq(settings.vanilla),
            gate.seen.eq(transport.seen),
            gate.delivered.eq(transport.delivered),
            control.join.eq(settings.join),
            control.vanilla.eq(settings.vanilla),
            control.network_open.eq(transport.open),
            control.network_busy.eq(transport.clearing),
            control.network_idle.eq(transport.idle),
            control.gave_up.eq(transport.gave_up),
            control.peers_missing.eq(transport.peers_missing),
        ]
        return transport

    def send(self, m: Module, transport: Transport) -> None:
        """Frames to the MAC: one that was offered stays, as it is, when the transport is reset."""
        frame, axis = transport.m_axis, self.m_axis
        size = Frame.as_shape().size
        m.submodules.offer = offer = StreamSkid(StreamRegisterParams(width=size))
        m.d.comb += [
            offer.i.payload.eq(frame.tdata[:size]),
            offer.i.valid.eq(frame.tvalid),
            frame.tready.eq(offer.i.ready),
            axis.tdata.eq(offer.o.payload),
            axis.tkeep.eq(FRAME_KEEP),
            axis.tlast.eq(1),
            axis.tvalid.eq(offer.o.valid),
            offer.o.ready.eq(axis.tready),
        ]

    def add_readers(self, m: Module, core: TrainingCore, settings, control: Control) -> list:
        """A reader per engine, all with the same plan."""
        readers = []
        for e in range(self.params.engines):
            m.submodules[f"reader_{e}"] = reader = HbmReader(self.params)
            readers.append(reader)
            connect(m, reader.words, core.words[e])
            for port, axi in enumerate(reader.m_axi):
                connect(m, axi, flipped(self.m_axi_words[e * self.params.ports + port]))
            m.d.comb += [
                reader.plan.valid.eq(control.begin),
                reader.plan.payload.address.eq(
                    low_bits(control.word_address, self.params.address_bits)
                ),
                reader.plan.payload.beats.eq(settings.word_beats),
                reader.plan.payload.stride.eq(settings.word_stride),
                reader.plan.payload.runs.eq(settings.word_runs),
                reader.plan.payload.epochs.eq(settings.epochs),
                reader.halt.eq(control.halt),
            ]
        return readers

    def watch(self, m: Module, core: TrainingCore, control: Control, readers: list, labels) -> None:
        """What may stop a run: errors, and plans that end before it or after it."""
        words_busy = Cat(reader.busy for reader in readers)
        m.d.comb += [
            control.words_failed.eq(Cat(reader.failed for reader in readers).any()),
            control.labels_failed.eq(labels.failed),
            control.readers_busy.eq(words_busy.any() | labels.busy),
        ]
        m.d.sync += control.starved.eq(
            (core.words_waiting & ~words_busy).any() | (core.labels_waiting & ~labels.busy)
        )

    def watch_memory(
        self,
        m: Module,
        registers: RegisterBlock,
        control: Control,
        counters: Counters,
        readers: list,
        labels,
    ) -> None:
        """Ports whose memory answers what it was not asked, or not at all."""
        m.submodules.timer = timer = BusTimer(BusTimerParams())
        buses = [bus for reader in readers for bus in reader.bus] + [labels.bus]
        for reader in (*readers, labels):
            m.d.comb += [
                reader.watch.tick.eq(timer.tick),
                reader.watch.revive.eq(control.revive),
            ]
        m.d.sync += [
            control.memory_broken.eq(Cat(bus.broken for bus in buses).any()),
            control.memory_silent.eq(Cat(bus.silent for bus in buses).any()),
            control.memory_owes.eq(Cat(bus.owes for bus in buses).any()),
        ]
        m.d.comb += [
            timer.limit.eq(registers.control.memory_timeout),
            control.tick.eq(timer.tick),
            counters.dropped_beats.eq(Cat(bus.dropped for bus in buses)),
            registers.status.broken_ports.eq(Cat(bus.broken for bus in buses)),
            registers.status.memory_owes.eq(control.memory_owes),
        ]

    def report(self, m: Module, status, control: Control, counters: Counters, transport) -> None:
        """What the host reads."""
        m.d.comb += [status[name].eq(value) for name, value in constants(self.params).items()]
        m.d.comb += [status[name].eq(counters.counts[name]) for name in COUNTERS]
        m.d.comb += [
            self.busy.eq(control.busy),
            status.busy.eq(control.busy),
            status.done.eq(control.done),
            status.failed.eq(control.failed),
            status.cause.eq(control.cause),
            status.job_open.eq(transport.open),
            status.network_idle.eq(transport.idle),
            status.stuck_slot.eq(transport.stuck_slot),
            status.oldest_slot.eq(transport.oldest_slot),
        ]
