"""Tracks which PARTIALs of an open turn another switch has, and orders the others to leave."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.switch.params import GnnSwitchParams


class LinkWindow(Component):
    """Orders the PARTIALs of a turn, seq by seq, until all of them are acknowledged.

    ``add`` says that PARTIAL ``following`` of the turn is stored from now on. ``used`` is the
    number of stored ones; the user must not add beyond ``params.link_window``. A PARTIAL is ordered
    for the first time as soon as it is stored.

    ``ack`` comes with ``ack_valid``, and takes effect a cycle later. The set of PARTIALs that ACKs
    acknowledge never shrinks, so an ACK with a lower base than the window's is ignored; a later ACK
    repeats the rest of its content. The window's base moves past all acknowledged PARTIALs, at once
    to an ACK's base, and by its bitmap one PARTIAL a cycle. An ACK whose base was never ordered
    cannot come from a switch, and has no effect (``nonsense``).

    When the oldest PARTIAL has not been acknowledged for ``timeout`` cycles, every PARTIAL without
    acknowledgement that had been ordered when the timer started is ordered again, once; then the
    timer starts again. So a PARTIAL is repeated at most once in ``timeout`` cycles (SwitchGNN,
    section 3.4, corrected).

    ``clear`` empties the window. An order that waits then stays valid, like any waiting beat.
    ``unsent`` says that a PARTIAL has not been ordered yet.

    Throughput: an order a cycle; a repeated order in two cycles. Latency: an order is there
    :attr:`latency` cycles after its ``add``. Stalls: holds.
    """

    latency = 2

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            clear=In(1),
            add=In(1),
            following=Out(params.link_seq_bits),
            used=Out(range(params.link_window + 1)),
            unsent=Out(1),
            ack_valid=In(1),
            ack=In(params.link_ack),
            nonsense=Out(1),
            timeout=In(32),
            orders=Out(stream.Signature(params.link_order)),
        )

    def build(self, m: Module) -> None:
        width, slot_bits = self.params.link_window, self.params.link_slot_bits
        bits = self.params.link_seq_bits
        base = Signal(bits)  # the oldest one without acknowledgement
        arrived = Signal(width)  # bit k: base + k is acknowledged
        sent = Signal(bits)  # number of PARTIALs that were ordered
        moved = Signal()  # the base has moved
        free = Signal()  # there is room for an order
        fresh = Signal()
        m.d.comb += [
            free.eq(~self.orders.valid | self.orders.ready),
            self.unsent.eq(sent != self.following),
            fresh.eq(self.unsent & free),
            self.used.eq((self.following - base)[: len(self.used)]),
        ]
        self.take_ack(m, base, arrived, sent, moved)
        again, cursor = self.repeat(m, base, arrived, sent, free & ~fresh, moved)
        with m.If(free):
            m.d.sync += [
                self.orders.valid.eq(fresh | again),
                self.orders.payload.slot.eq(Mux(fresh, sent, cursor)[:slot_bits]),
                self.orders.payload.again.eq(~fresh),
            ]
        with m.If(self.clear):
            m.d.sync += [base.eq(0), arrived.eq(0), sent.eq(0), self.following.eq(0)]
            with m.If(free):
                m.d.sync += self.orders.valid.eq(0)
        with m.Else():
            m.d.sync += [sent.eq(sent + fresh), self.following.eq(self.following + self.add)]
        expect(
            m,
            self,
            finds_room=lambda: ~self.add | self.clear | (self.used < width),
            nothing_is_acknowledged_before_it_is_sent=lambda: base <= sent,
        )

    def take_ack(
        self, m: Module, base: Signal, arrived: Signal, sent: Signal, moved: Signal
    ) -> None:
        """Take the content of an ACK, unless a later one has come."""
        ack = Signal(self.params.link_ack, reset_less=True)
        came = Signal()
        m.d.sync += [came.eq(self.ack_valid & ~self.clear), ack.eq(self.ack)]
        low, high = ack.base[: len(base)], ack.base[len(base) :].any()
        known = Signal()
        jumps = Signal()
        slides = Signal()  # the base moves past a PARTIAL that a bitmap acknowledged
        m.d.comb += [
            known.eq(~high & (low <= sent)),
            self.nonsense.eq(came & ~known),
            jumps.eq(came & known & (low > base)),
            slides.eq(arrived[0] & (base != sent) & ~came),
            moved.eq(jumps | slides),
        ]
        with m.If(jumps):
            m.d.sync += [base.eq(low), arrived.eq(ack.bitmap)]
        with m.Elif(came & known & (low == base)):
            m.d.sync += arrived.eq(arrived | ack.bitmap)
        with m.Elif(slides):
            m.d.sync += [base.eq(base + 1), arrived.eq(arrived >> 1)]

    def repeat(
        self, m: Module, base: Signal, arrived: Signal, sent: Signal, free, moved: Signal
    ) -> tuple[Signal, Signal]:
        """Return whether a PARTIAL is ordered again, when ``free``, and which."""
        mark = Signal(len(base))  # number of PARTIALs ordered when the timer started
        timer = Signal(32, reset_less=True)
        scanning = Signal()
        cursor = Signal(len(base), reset_less=True)
        looked = Signal()  # the cursor's PARTIAL was looked up: the next two are valid
        index = Signal(self.params.link_slot_bits, reset_less=True)
        below = Signal(reset_less=True)
        known = Signal()
        again = Signal()
        m.d.comb += [
            known.eq(below | Array(arrived)[index]),
            again.eq(scanning & looked & ~known & free),
        ]
        with m.If(self.clear):
            m.d.sync += [scanning.eq(0), looked.eq(0), timer.eq(0), mark.eq(0)]
        with m.Elif(scanning):
            m.d.sync += [
                looked.eq(~looked),
                index.eq((cursor - base)[: len(index)]),
                below.eq(cursor < base),
                timer.eq(0),
            ]
            # While it waits to be ordered, an ACK may acknowledge it.
            with m.If(looked), m.If(known | again):
                m.d.sync += cursor.eq(cursor + 1)
            with m.Elif(cursor >= mark):
                m.d.sync += [scanning.eq(0), looked.eq(0), mark.eq(sent)]
        with m.Elif(moved | (base >= mark)):
            m.d.sync += [timer.eq(0), mark.eq(sent)]
        with m.Elif(timer >= self.timeout):
            m.d.sync += [scanning.eq(1), cursor.eq(base), looked.eq(0)]
        with m.Else():
            m.d.sync += timer.eq(timer + 1)
        return again, cursor
