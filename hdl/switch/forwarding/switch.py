"""Connects a switch that forwards Ethernet packets: ports, MAC table, memories, registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay, low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.counter_banks import CounterBanks
from hdl.common.event_counters import EventCounters
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import AXIS, PRIORITY_COUNT, in_lanes, to_axis
from hdl.common.register_block import RegisterBlock
from hdl.common.stream_arbiter import StreamArbiter
from hdl.switch.classifier import Classifier, ClassifierParams
from hdl.switch.forwarding.counters import (
    COUNTERS,
    MEASURES,
    TABLE_COUNTERS,
    PacketMeter,
    without_errors,
)
from hdl.switch.forwarding.egress import ForwardingEgress
from hdl.switch.forwarding.ingress import CAUSES, ForwardingIngress
from hdl.switch.forwarding.mac_table import TABLE_EVENTS, MacTable
from hdl.switch.forwarding.matching import Matching
from hdl.switch.forwarding.packet_memory import PacketMemory
from hdl.switch.forwarding.params import LEARNED, MAC_BITS, ForwardingParams
from hdl.switch.forwarding.registers import constants, forwarding_registers
from hdl.switch.forwarding.settings_bank import SHOWN, SettingsBank, controls

LEARNING_DEPTH = 4  #: addresses of a port that wait to be learned


class ForwardingSwitch(Component):
    """Forwards Ethernet packets between its ports by the MAC addresses that it learns (802.1Q).

    Whole packets are stored, then forwarded (:class:`ForwardingIngress` says which are dropped).
    They wait at the port where they came (:class:`PacketMemory`), then in a queue of their class at
    the output (:class:`ForwardingEgress`); packets of one class from one port to another stay in
    order. Packets that find no room are dropped, unless their class is lossless and the neighbour
    obeys within ``params.headroom`` beats. ``pause``, from registers, has a bit for each priority
    of PFC that the neighbour of a port must pause; ``paused`` has a bit for each that the neighbour
    pauses. There is no spanning tree: a loop of links multiplies floods, up to the limit of each
    port's flooding.

    With ``params.recognisers`` the packets that these know go to ``to_engine[e][k]`` instead, where
    they cannot wait, and packets of ``from_engine[e][k]`` share port k with the others; none begins
    while bit e of ``hold[k]`` is high, and bit e of ``coming[k]`` announces one for the next cycle,
    which then leaves a cycle earlier. Packets to the switch's own address that no engine knows are
    dropped.

    A port is down while its bit of ``down`` is high, as that of a port without a link should be, or
    while the host shuts it. Whatever waits for it is dropped and counted, of engines too, so that
    it fills no memory; pauses of its neighbour do not count; its addresses are forgotten, but for
    static ones. What begins to come from it, for engines too, is in no group. A packet that is
    leaving when the port goes down ends with a beat with ``tuser``.

    Throughput: a beat a cycle into and out of every port. ``s_axis`` is always ready; ``tuser`` on
    the last beat says that its checksum is bad. Latency: :attr:`latency` at most, from a packet's
    last beat to its first at ``m_axis``, while nothing else moves.
    """

    register_map = staticmethod(forwarding_registers)

    def __init__(self, params: ForwardingParams) -> None:
        self.registers = forwarding_registers(params)
        self.latency = (
            ForwardingIngress.latency
            + PacketMemory.latency
            + Matching.latency
            + PacketMemory.turn_latency
            + ForwardingEgress(params).latency
        )
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            s_axis=In(AXIS).array(params.ports),
            m_axis=Out(AXIS).array(params.ports),
            to_engine=Out(AXIS).array(params.engines, params.ports),
            from_engine=In(AXIS).array(params.engines, params.ports),
            **dict.fromkeys(
                ("hold", "coming") if params.engines else (),
                In(params.engines).array(params.ports),
            ),
            pause=Out(PRIORITY_COUNT).array(params.ports),
            paused=In(PRIORITY_COUNT).array(params.ports),
            down=In(params.ports),
        )

    def build(self, m: Module) -> None:
        params, ports = self.params, range(self.params.ports)
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.settings = settings = SettingsBank(params)
        m.submodules.table = table = MacTable(params)
        m.submodules.matching = matching = Matching(params)
        inputs, outputs, foreign = [], [], []
        for k in ports:
            m.submodules[f"ingress_{k}"] = ingress = ForwardingIngress(params)
            m.submodules[f"memory_{k}"] = memory = PacketMemory(params)
            m.submodules[f"egress_{k}"] = egress = ForwardingEgress(params)
            foreign.append(self.classify(m, k, ingress, table.down[k], registers.control))
            to_axis(m, egress.o, flipped(self.m_axis[k]))
            out, beat = self.m_axis[k], egress.o.payload
            m.d.comb += [out.tuser.eq(beat.last & ~beat.keep[0]), out.tkeep[0].eq(1)]
            inputs.append((ingress, memory))
            outputs.append(egress)
        connect(m, flipped(self.s_axil), registers.axil)
        m.d.comb += [
            *(
                settings.control[name].eq(low_bits(registers.control[name], len(Value.cast(field))))
                for name, field in ((n, settings.control[n]) for n in controls(params).members)
            ),
            *(registers.status[name].eq(settings.shown[name]) for name in SHOWN.members),
        ]
        for k, (ingress, memory) in enumerate(inputs):
            self.join(m, k, ingress, memory, table, registers.control, settings.ports[k])
            self.cross(m, k, memory, matching, outputs)
        m.d.sync += table.down.eq(self.down | registers.control.shut_ports[: params.ports])
        m.d.comb += registers.status.ports_down.eq(table.down)
        holds = self.hold if params.engines else [Const(0, 0)] * params.ports
        for k, egress in enumerate(outputs):
            own = slice(k * params.sources, (k + 1) * params.sources)
            if params.engines:
                m.d.comb += egress.coming.eq(self.coming[k])
            for e, engine in enumerate(self.from_engine):
                connect(m, flipped(engine[k]), egress.engines[e])
            m.d.comb += [
                egress.down.eq(table.down[k]),
                egress.paused.eq(Cat(self.paused[k][: params.classes], holds[k])),
                *(a.eq(b) for a, b in zip(egress.level, settings.level[own], strict=True)),
                *(a.eq(b) for a, b in zip(egress.weight, settings.weight[own], strict=True)),
            ]
        lost = self.learn(m, [ingress for ingress, _ in inputs], table, registers.control)
        self.run_table(m, table, registers)
        discarded = [egress.discarded for egress in outputs]
        self.count(m, inputs, lost, foreign, discarded, table, registers)

    def classify(self, m: Module, k: int, ingress, down, control) -> Value:
        """Send the packets of port ``k`` to the engines and ``ingress``; return what is foreign."""
        port, streams = flipped(self.s_axis[k]), self.params.recognisers
        if not streams:
            connect(m, port, ingress.axis)
            m.d.comb += ingress.passes.eq(1)
            return Const(0)
        classifier = Classifier(ClassifierParams(streams=streams))
        m.submodules[f"classifier_{k}"] = classifier
        m.d.comb += [
            classifier.address.eq(
                in_lanes(Cat(control.switch_address_low, control.switch_address_high))
            ),
            classifier.closed.eq(down),
            port.tready.eq(1),
            ingress.passes.eq(classifier.o[-1].tvalid),
        ]
        for name in ("tvalid", "tdata", "tkeep", "tlast", "tuser"):
            value = getattr(port, name)
            m.d.comb += [getattr(axis, name).eq(value) for axis in (classifier.mac, ingress.axis)]
        for e, engine in enumerate(self.to_engine):
            connect(m, classifier.o[e], flipped(engine[k]))
        return classifier.foreign

    def join(self, m: Module, k: int, ingress, memory, table, control, settings) -> None:
        """Connect port ``k``'s ingress to its memory, to the table and to its settings."""
        look_up = ("mac", "group", "hit", "port")
        mac, group, hit, port = (getattr(table, name)[k] for name in look_up)
        # The ingress judges a packet two cycles later than the classifier has seen the port down.
        recent = Signal(2, name=f"recently_down_{k}")
        m.d.sync += recent.eq(Cat(table.down[k], recent[0]))
        m.d.comb += [
            ingress.own.eq(Mux(table.down[k] | recent.any(), 0, 1 << k)),
            ingress.settings.eq(settings),
            ingress.congested.eq(memory.congested),
            mac.eq(ingress.mac),
            group.eq(ingress.group),
            ingress.hit.eq(hit),
            ingress.port.eq(port),
            memory.stored.eq(ingress.stored),
            *(memory.levels[name].eq(control[name]) for name in memory.levels.shape().members),
        ]
        m.d.sync += self.pause[k].eq(memory.pause & control.lossless[: self.params.classes])

    def cross(self, m: Module, k: int, memory, matching, outputs) -> None:
        """Connect the memory of input ``k`` to all outputs, and to the matching."""
        count = self.params.ports
        m.d.comb += [
            matching.idle[k].eq(memory.idle),
            memory.turn.eq(matching.turn[k]),
            memory.contended.eq(matching.contended[k]),
        ]
        for o, egress in enumerate(outputs):
            m.d.comb += [
                matching.requesting[k * count + o].eq(memory.requesting[o]),
                memory.open[o].eq(egress.open),
                egress.beats[k].eq(memory.beat),
                egress.class_[k].eq(memory.class_),
                egress.comes[k].eq(memory.to[o]),
            ]

    def learn(self, m: Module, inputs, table, control) -> list[Value]:
        """Queue the addresses that may be learned; return which ports lose one, being full."""
        shape, lost = LEARNED.size, []
        m.submodules.learners = learners = StreamArbiter.sized(shape=shape, count=len(inputs))
        changed = Signal()  # entries, or where some address is, or one has not been entered
        m.d.sync += changed.eq(table.age | table.clear | table.start | table.events.any())
        for k, ingress in enumerate(inputs):
            fifo = Fifo(FifoParams(shape=shape, depth=LEARNING_DEPTH))
            m.submodules[f"learned_{k}"] = fifo
            latest = Signal(LEARNED, name=f"latest_{k}")
            known = Signal(name=f"known_{k}")  # the latest was queued since the table has changed
            may = control.learning & ~table.closed[k]
            comes = ingress.learns & may & ~(known & (latest == ingress.learned))
            with m.If(changed | table.closed[k]):
                m.d.sync += known.eq(0)
            with m.Elif(comes & fifo.i.ready):
                m.d.sync += [latest.eq(ingress.learned), known.eq(1)]
            m.d.comb += [fifo.i.valid.eq(comes), fifo.i.payload.eq(ingress.learned)]
            connect(m, fifo.o, learners.i[k])
            lost.append(comes & ~fifo.i.ready)
        m.d.comb += [
            table.learn.valid.eq(learners.o.valid),
            table.learn.payload.eq(learners.o.payload.payload),
            learners.o.ready.eq(table.learn.ready),
        ]
        return lost

    def run_table(self, m: Module, table, registers) -> None:
        """Let the host and the clock of ageing change the table."""
        control, status, reply = registers.control, registers.status, table.reply
        unit, units = Signal(range(self.params.age_cycles)), Signal(32, init=1)
        full = unit == self.params.age_cycles - 1
        over = full & (units >= control.ageing)
        m.d.sync += unit.eq(Mux(full, 0, unit + 1))
        with m.If(full):
            m.d.sync += units.eq(Mux(over, 1, (units + 1)[:32]))
        entry = reply.entry
        m.d.comb += [
            table.age.eq(over & control.ageing.any()),
            table.clear.eq(control.table_clear),
            table.start.eq(control.table_start),
            table.command.eq(control.table_operation),
            table.key.mac.eq(Cat(control.table_mac_low, control.table_mac_high)),
            table.key.group.eq(control.table_group),
            table.key.port.eq(control.table_port),
            table.place.eq(low_bits(control.table_place, len(table.place))),
            status.table_busy.eq(table.busy),
            status.table_ready.eq(table.ready),
            status.table_hit.eq(reply.hit),
            status.table_refused.eq(reply.refused),
            status.table_static_now.eq(entry.static),
            status.table_fresh_now.eq(entry.fresh),
            status.table_group_now.eq(entry.group),
            status.table_port_now.eq(entry.port),
            status.table_mac_now.eq(entry.mac),
        ]

    def count(self, m: Module, inputs, lost, foreign, discarded, table, registers) -> None:
        """Count the packets of each port, and the events of the table."""
        params, control, status = self.params, registers.control, registers.status
        banks = CounterBanks.sized(counters=COUNTERS, count=params.ports)
        m.submodules.counters = banks
        m.submodules.table_counters = of_table = EventCounters(TABLE_COUNTERS)
        wait = ForwardingIngress.latency - PacketMeter.latency
        for k, (ingress, memory) in enumerate(inputs):
            measures = {}
            for name, axis in (("in", self.s_axis[k]), ("out", self.m_axis[k])):
                m.submodules[f"{name}_meter_{k}"] = meter = PacketMeter()
                m.d.comb += [
                    meter.moves.eq(axis.tvalid & axis.tready),
                    meter.dest.eq(axis.tdata[:MAC_BITS]),
                    meter.keep.eq(axis.tkeep),
                    meter.last.eq(axis.tlast),
                ]
                measures[name] = meter.measures
            broken = delay(m, self.m_axis[k].tuser, PacketMeter.latency, f"broken_{k}")
            came = delay(m, measures["in"], wait, f"came_{k}")
            came = without_errors(came, ingress.dropped)
            events = banks.events[k]
            m.d.comb += [
                *(events[f"in_{name}"].eq(value) for name, value in came.items()),
                *(
                    events[f"out_{name}"].eq(Mux(broken, 0, measures["out"][name]))
                    for name in MEASURES
                ),
                *(events[f"in_{name}"].eq(ingress.dropped[j]) for j, name in enumerate(CAUSES)),
                events.in_no_room.eq(memory.lost),
                events.in_foreign.eq(foreign[k]),
                events.out_discards.eq(discarded[k]),
                events.learning_lost.eq(lost[k]),
            ]
        m.d.comb += [
            *(of_table.events[n].eq(table.events[j]) for j, n in enumerate(TABLE_EVENTS)),
            of_table.clear.eq(control.clear_counters),
            *(status[f"table_{name}"].eq(of_table.counts[name]) for name in TABLE_EVENTS),
            banks.clear.eq(control.clear_counters),
            banks.part.eq(control.counter_part),
            banks.select.eq(control.port_counter),
            status.port_count.eq(banks.value),
            *(status[name].eq(value) for name, value in constants(params).items()),
        ]
