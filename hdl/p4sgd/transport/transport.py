"""Implements the network transport of a worker: AllReduce through the switch over any link."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS
from hdl.common.streams import register_stream
from hdl.p4sgd.transport.arrivals import Arrivals
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TransportParams, Verdict
from hdl.p4sgd.transport.reorder_buffer import ReorderBuffer
from hdl.p4sgd.transport.slot_table import SlotTable
from hdl.p4sgd.transport.timers import Timers
from hdl.p4sgd.transport.transmitter import Transmitter

#: Describes how often each event happened in a cycle; counters add these up.
NETWORK_EVENTS = data.StructLayout(
    {"sent": 1, "retransmissions": 1, "full_saturations": 4}
    | {verdict.name.lower(): 1 for verdict in Verdict if verdict is not Verdict.NONE}
)


class Transport(Component):
    """Adds ``partial`` activations over all workers of a job (P4SGD, section 3.3, algorithm 3).

    Each ``partial`` goes to the switch as one frame in the next slot; its sum leaves on ``full``,
    in the same order, even if packets are lost, duplicated or reordered. Up to
    ``settings.slot_count`` are under way. With ``params.shadow``, the switch keeps a shadow copy of
    each sum (:class:`hdl.p4sgd.switch.shadow_rule.ShadowRule`) and nothing is acknowledged. While
    ``allowed`` is low ``full`` is held back; ``seen`` pulses for each sum that has come in, in
    order.

    ``clear``, while nothing is under way, begins a job at micro-batch 0, in ``slots`` cycles of
    ``clearing``, after which it is ``open`` until a reset. ``idle`` is high when nothing is under
    way; ``oldest_slot`` is the one whose sum comes next. If a slot gets no answer, ``abandoned``
    goes high, with ``stuck_slot``, and with ``peers_missing`` if the switch answers but other
    workers are missing (:class:`Timers`). ``settings`` must be stable while a job is open.

    Throughput: a packet a cycle in each direction. Latency: :attr:`send_latency` cycles from
    ``partial`` to the frame on ``m_axis``, :attr:`receive_latency` from the answer on ``s_axis``
    to ``full``.
    """

    send_latency = Transmitter.latency
    receive_latency = Arrivals.latency + 1 + ReorderBuffer.latency

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            settings=In(NETWORK_SETTINGS),
            clear=In(1),
            clearing=Out(1),
            open=Out(1),
            idle=Out(1),
            partial=In(stream.Signature(params.activations)),
            full=Out(stream.Signature(params.activations)),
            allowed=In(1),
            seen=Out(1),
            delivered=Out(1),
            outstanding=Out(params.count_bits),
            abandoned=Out(1),
            peers_missing=Out(1),
            stuck_slot=Out(params.slot_bits),
            oldest_slot=Out(params.slot_bits),
            events=Out(NETWORK_EVENTS),
            m_axis=Out(AXIS),
            s_axis=In(AXIS),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.arrivals = arrivals = Arrivals(params)
        m.submodules.table = table = SlotTable(params)
        m.submodules.timers = timers = Timers(params)
        m.submodules.transmitter = transmitter = Transmitter(params)
        m.submodules.reorder_buffer = reorder_buffer = ReorderBuffer(params)
        connect(m, flipped(self.s_axis), arrivals.s_axis)
        connect(m, flipped(self.partial), transmitter.partial)
        connect(m, timers.overdue, transmitter.overdue)
        connect(m, reorder_buffer.full, flipped(self.full))
        connect(m, transmitter.m_axis, flipped(self.m_axis))
        full = Signal()
        m.d.comb += [
            arrivals.settings.eq(self.settings),
            arrivals.open.eq(self.open),
            table.slot_count.eq(self.settings.slot_count[: self.params.count_bits]),
            table.clear.eq(self.clear),
            table.valid.eq(arrivals.valid),
            table.arrival.eq(arrivals.arrival),
            full.eq(table.verdict == Verdict.FULL),
            reorder_buffer.keep.eq(full),
            reorder_buffer.keep_slot.eq(arrivals.arrival.slot),
            reorder_buffer.activations.eq(arrivals.arrival.activations),
            reorder_buffer.arrived.eq(table.arrived),
            reorder_buffer.allowed.eq(self.allowed),
            reorder_buffer.deliver_slot.eq(table.deliver_slot),
            table.delivered.eq(reorder_buffer.delivered),
            transmitter.settings.eq(self.settings),
            transmitter.may_start.eq(table.may_start),
            transmitter.next_slot.eq(table.next_slot),
            transmitter.next_use.eq(table.next_use),
            table.start.eq(transmitter.start),
            table.questions[0].eq(transmitter.question),
            transmitter.answer.eq(table.answers[0]),
        ]
        if not params.shadow:
            self.acknowledge(m, full, arrivals, transmitter)
        self.connect_timers(m, table, timers, transmitter)
        clamped = Mux(full, arrivals.arrival.saturations, 0)
        m.d.comb += self.events.full_saturations.eq(clamped)
        self.report(m, table, timers, transmitter)

    def acknowledge(self, m: Module, full: Signal, arrivals, transmitter) -> None:
        """Add the FIFO of slots whose full activation is to be acknowledged.

        There is always room: each slot is in it once, or twice if one ACK is superfluous; that one
        is dropped before the slot's next sum can come.
        """
        m.submodules.acks = acks = Fifo.sized(
            shape=self.params.slot_bits,
            depth=self.params.slots,
            style="block",
        )
        register_stream(m, "ack", acks.o, transmitter.acks)
        # The verdict comes late, so a register takes it to the FIFO.
        m.d.sync += [acks.i.valid.eq(full), acks.i.payload.eq(arrivals.arrival.slot)]

    def connect_timers(self, m: Module, table, timers, transmitter) -> None:
        """Connect the timers to the packets that are sent, and to the table of slots."""
        m.d.comb += [
            timers.settings.eq(self.settings),
            timers.clear.eq(self.clear),
            timers.open.eq(self.open),
            timers.sent.eq(transmitter.sent),
            timers.sent_slot.eq(transmitter.sent_slot),
            timers.sent_tries.eq(transmitter.sent_tries),
        ]
        m.d.sync += [
            timers.pending.eq(table.verdict == Verdict.PENDING),
            timers.pending_slot.eq(table.arrival.slot),
        ]
        for k in range(2):
            m.d.comb += [
                table.questions[1 + k].eq(timers.questions[k]),
                timers.answers[k].eq(table.answers[1 + k]),
            ]

    def report(self, m: Module, table, timers, transmitter) -> None:
        """Report the state and the events of the transport to the worker."""
        m.d.comb += [
            self.open.eq(table.open),
            self.clearing.eq(table.clearing),
            self.idle.eq(table.idle),
            self.seen.eq(table.seen),
            self.delivered.eq(table.delivered),
            self.outstanding.eq(table.outstanding),
            self.abandoned.eq(timers.abandoned),
            self.peers_missing.eq(timers.peers_missing),
            self.stuck_slot.eq(timers.stuck_slot),
            self.oldest_slot.eq(table.deliver_slot),
            self.events.sent.eq(transmitter.sent),
            self.events.retransmissions.eq(transmitter.retransmission),
        ]
        m.d.comb += [
            self.events[verdict.name.lower()].eq(table.verdict == verdict)
            for verdict in Verdict
            if verdict is not Verdict.NONE
        ]
