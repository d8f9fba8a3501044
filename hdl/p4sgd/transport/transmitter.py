"""Sends partial activations and acknowledgements, and sends them again when they are overdue."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.common.packets import AXIS
from hdl.common.reserved_fifo import ReservedFifo
from hdl.p4sgd.network.frame import FRAME_KEEP, frame_bits
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TRIES, Phase, TransportParams

QUEUE_DEPTH = 8  #: most packets between the choice and the MAC


class Transmitter(Component):
    """Sends a packet a cycle (P4SGD, section 3.3, algorithm 3, lines 1 to 11, 24 and 34).

    By descending priority: ``partial`` is sent and kept in slot ``next_slot`` if ``may_start``, and
    ``start`` reports it to the table; a slot of ``acks`` is acknowledged, or dropped if it waits
    for no confirmation; the packet of an ``overdue`` slot is sent again, or dropped if the slot
    waits for nothing. ``sent`` goes to the timers with every packet, ``retransmission`` with those
    that are sent again. ``question`` and ``answer`` go to the table of slots.

    Throughput: a packet a cycle, while ``m_axis`` takes one. Latency: :attr:`latency`.
    """

    latency = 1 + DualPortMemory.latency + 1  # the choice, its payload, the queue

    def __init__(self, params: TransportParams) -> None:
        super().__init__(
            params,
            settings=In(NETWORK_SETTINGS),
            partial=In(stream.Signature(params.activations)),
            may_start=In(1),
            next_slot=In(params.slot_bits),
            next_use=In(8),
            start=Out(1),
            acks=In(stream.Signature(params.slot_bits)),
            overdue=In(stream.Signature(params.overdue)),
            question=Out(params.slot_bits),
            answer=In(params.answer),
            sent=Out(1),
            sent_slot=Out(params.slot_bits),
            sent_tries=Out(TRIES),
            retransmission=Out(1),
            m_axis=Out(AXIS),
        )

    @property
    def order(self) -> data.StructLayout:
        """Describe a packet to be sent, without its payload."""
        return data.StructLayout({"slot": self.params.slot_bits, "use": 8, "is_agg": 1})

    @property
    def packet(self) -> data.StructLayout:
        """Describe the fields that differ from packet to packet."""
        return data.StructLayout({"order": self.order, "payload": self.params.activations.size})

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.payloads = payloads = DualPortMemory.sized(
            shape=params.activations, depth=params.slots
        )
        m.submodules.queue = queue = ReservedFifo.sized(
            shape=self.packet, depth=QUEUE_DEPTH, cancels=True
        )
        order = Signal(self.order)
        chosen = Signal()
        self.choose(m, order, chosen, queue.room)
        # The choice is known late, so a place is always reserved, and released if not needed.
        offered = self.partial.valid | self.acks.valid | self.overdue.valid
        m.d.comb += queue.reserve.eq(offered & queue.room)
        m.d.sync += queue.cancel.eq(queue.reserve & ~chosen)
        read = delay(m, order, 1, "order")
        m.d.comb += [
            payloads.write.eq(self.start),
            payloads.write_address.eq(self.next_slot),
            payloads.write_data.eq(self.partial.payload),
            payloads.read_address.eq(read.slot),
        ]
        ordered = delay(m, read, payloads.latency, "read_order")
        arrives = delay(m, chosen, 1 + payloads.latency, "read", reset_less=False)
        self.assemble(m, queue, ordered, payloads.read_data, arrives)

    def choose(self, m: Module, order, chosen: Signal, room) -> None:
        """Choose a packet; new ones have priority, because they start an AllReduce."""
        waits = self.answer.phase != Phase.FREE
        first = Signal()  # a new packet comes before others
        m.d.comb += [
            self.question.eq(Mux(self.acks.valid, self.acks.payload, self.overdue.payload.slot)),
            order.slot.eq(self.question),
            order.use.eq(self.answer.use),
            self.partial.ready.eq(self.may_start & room),
            first.eq(self.partial.valid & self.may_start),
            self.start.eq(first & room),
            self.sent.eq(chosen),
            self.sent_slot.eq(order.slot),
        ]
        with m.If(first):
            m.d.comb += [
                chosen.eq(room),
                order.slot.eq(self.next_slot),
                order.use.eq(self.next_use),
                order.is_agg.eq(1),
            ]
        with m.Elif(self.acks.valid):
            # The ACK may have been sent as overdue, and its slot may be in the next use by now.
            due = self.answer.phase == Phase.ACK
            m.d.comb += [chosen.eq(room & due), self.acks.ready.eq(room)]
        with m.Elif(self.overdue.valid):
            m.d.comb += [
                chosen.eq(room & waits),
                self.overdue.ready.eq(room),
                self.retransmission.eq(chosen),
                order.is_agg.eq(self.answer.phase == Phase.PARTIAL),
                self.sent_tries.eq(self.overdue.payload.tries),
            ]

    def assemble(self, m: Module, queue: ReservedFifo, order, payload, valid) -> None:
        """Queue the fields that differ from packet to packet; others are added later."""
        entering = Signal(self.packet)
        leaving = Signal(self.packet)
        settings, axis = self.settings, self.m_axis
        own = Signal(32)
        m.d.comb += [
            own.bit_select(settings.worker, 1).eq(1),
            entering.order.eq(order),
            entering.payload.eq(Mux(order.is_agg, payload, 0)),
            queue.payload.eq(entering),
            queue.push.eq(valid),
            leaving.eq(queue.o.payload),
            queue.o.ready.eq(axis.tready),
            axis.tvalid.eq(queue.o.valid),
            axis.tkeep.eq(FRAME_KEEP),
            axis.tlast.eq(1),
            axis.tdata.eq(
                frame_bits(
                    destination=settings.switch_address,
                    source=settings.address,
                    is_agg=leaving.order.is_agg,
                    bm=own,
                    job=settings.job,
                    epoch=settings.epoch,
                    seq=(settings.slot_base + leaving.order.slot)[:16],
                    use=leaving.order.use,
                    payload=leaving.payload,
                )
            ),
        ]
