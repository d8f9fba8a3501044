"""Orders the frames of a turn to be sent: in sequence, within the window, and again on a timer."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT, ORDER, UNDER_WAY
from hdl.switchgnn.endpoint.params import EndpointParams


class SendWindow(Component):
    """Orders the ``sends`` frames of a turn, seq by seq, until all of them are acknowledged.

    ``begin`` starts a turn, when ``idle``; ``end`` abandons it, because an ADVANCE acknowledges all
    of it. A frame is ordered for the first time when it is less than ``params.window`` ahead of the
    oldest one without acknowledgement. ``left`` says that an ordered frame has left, in the order
    of ``orders``, and ``left_again`` that it was ordered ``again``.

    One turn at a time is enough, because a turn begins when all of the one before is acknowledged.
    The set of frames that ACKs acknowledge never shrinks. The window's base moves past all
    acknowledged frames, at once to an ACK's base, and by its bitmap one frame a cycle, because a
    switch's base may be late. An ACK with a lower base than the window's is ignored; a later ACK
    repeats the rest of its content. An ACK whose base was never ordered cannot come from a switch,
    and has no effect (``nonsense``). ``ack`` is about the turn that was begun last, and takes
    effect a cycle later, unless another turn begins meanwhile.

    When the oldest frame has not been acknowledged for ``timeout`` cycles, every frame without
    acknowledgement that had left when the timer started is ordered again, once; the timer starts
    again when the last of them has left. Until then, and while the base moves, nothing is repeated,
    so a frame is repeated at most once in ``timeout`` cycles, however slowly frames leave.

    Throughput: an order a cycle; an order ``again`` in two cycles. Latency: an order is there 2
    cycles after ``begin``. Stalls: holds. ``full``: nothing new is ordered because the window is
    full.
    """

    latency = 2

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            begin=In(1),
            sends=In(32),
            end=In(1),
            ack=In(ACKNOWLEDGEMENT),
            timeout=In(32),
            orders=Out(stream.Signature(ORDER)),
            left=In(1),
            left_again=In(1),
            active=Out(1),
            idle=Out(1),
            acknowledged=Out(1),
            nonsense=Out(1),
            full=Out(1),
        )

    def build(self, m: Module) -> None:
        count = Signal(32, reset_less=True)  # number of frames of the turn
        base = Signal(32, reset_less=True)  # the oldest frame without acknowledgement
        arrived = Signal(self.params.window, reset_less=True)  # bit k: base + k is acknowledged
        following = Signal(32, reset_less=True)  # the next frame to be ordered for the first time
        moved = Signal()  # the base has moved
        free = Signal()  # there is room for an order
        fresh = Signal()
        m.d.comb += free.eq(~self.orders.valid | self.orders.ready)
        self.take_ack(m, base, arrived, following, moved)
        again, seq = self.repeat(m, base, arrived, free & ~fresh, moved)
        room = (following - base)[: bits_for(2 * self.params.window)] < self.params.window
        waits = Signal()
        m.d.comb += [
            waits.eq(self.active & (following != count)),
            fresh.eq(waits & room & free),
            self.full.eq(waits & ~room),
        ]
        with m.If(free):
            m.d.sync += [
                self.orders.valid.eq(fresh | again),
                self.orders.payload.seq.eq(Mux(fresh, following, seq)),
                self.orders.payload.again.eq(~fresh),
            ]
        with m.If(fresh):
            m.d.sync += following.eq(following + 1)
        under_way = Signal(bits_for(4 * self.params.window + 4 * UNDER_WAY))  # orders not left yet
        ordered = delay(m, fresh | again, 1, "ordered", reset_less=False)
        m.d.sync += [
            under_way.eq(under_way + ordered - self.left),
            self.acknowledged.eq(self.active & ~self.begin & (base == count)),
        ]
        m.d.comb += self.idle.eq(~ordered & ~under_way.any())
        with m.If(self.begin):
            m.d.sync += [
                self.active.eq(1),
                self.acknowledged.eq(0),
                count.eq(self.sends),
                base.eq(0),
                arrived.eq(0),
                following.eq(0),
            ]
        with m.Elif(self.end):
            m.d.sync += self.active.eq(0)
        expect(
            m,
            self,
            begins_when_idle=lambda: ~self.begin | self.idle,
            what_leaves_was_ordered=lambda: ~self.left | ordered | under_way.any(),
        )

    def take_ack(
        self, m: Module, base: Signal, arrived: Signal, following: Signal, moved: Signal
    ) -> None:
        """Take the content of an ACK, unless a later one has come."""
        ack = Signal(ACKNOWLEDGEMENT)
        m.d.sync += ack.eq(self.ack)
        with m.If(self.begin):  # the ACK is of the turn before
            m.d.sync += ack.valid.eq(0)
        news = ack.bitmap[: self.params.window]
        valid = Signal()
        jumps = Signal()
        slides = Signal()  # the base moves past a frame that a bitmap acknowledged
        m.d.comb += [
            valid.eq(ack.valid & self.active & (ack.base <= following)),
            self.nonsense.eq(ack.valid & ~(self.active & (ack.base <= following))),
            jumps.eq(valid & (ack.base > base)),
            slides.eq(arrived[0] & (base != following) & ~ack.valid),
            moved.eq(jumps | slides),
        ]
        with m.If(jumps):
            m.d.sync += [base.eq(ack.base), arrived.eq(news)]
        with m.Elif(valid & (ack.base == base)):
            m.d.sync += arrived.eq(arrived | news)
        with m.Elif(slides):
            m.d.sync += [base.eq(base + 1), arrived.eq(arrived >> 1)]

    def repeat(
        self, m: Module, base: Signal, arrived: Signal, free, moved: Signal
    ) -> tuple[Signal, Signal]:
        """Return whether a frame is ordered again, when ``free``, and which."""
        sent = Signal(32, reset_less=True)  # frames that have left, for the first time
        mark = Signal(32, reset_less=True)  # frames that had left when the timer began
        timer = Signal(32, reset_less=True)
        scanning = Signal()
        cursor = Signal(32, reset_less=True)
        looked = Signal()  # the cursor's frame was looked up: the next two are valid
        index = Signal(range(self.params.window), reset_less=True)
        below = Signal(reset_less=True)
        repeating = Signal(bits_for(2 * self.params.window))  # ordered again, and not left yet
        again = Signal()
        known = Signal()
        m.d.comb += [
            known.eq(below | Array(arrived)[index]),
            again.eq(scanning & looked & ~known & free),
        ]
        repeats = delay(m, again, 1, "repeats", reset_less=False)
        m.d.sync += repeating.eq(repeating + repeats - (self.left & self.left_again))
        with m.If(self.left & ~self.left_again):
            m.d.sync += sent.eq(sent + 1)
        with m.If(scanning):
            m.d.sync += [
                looked.eq(~looked & ~moved),  # the index would be from the old base
                index.eq((cursor - base)[: len(index)]),
                below.eq(cursor < base),
            ]
            with m.If(looked), m.If(known | again):
                m.d.sync += cursor.eq(cursor + 1)
            with m.Elif(cursor >= mark):
                m.d.sync += [scanning.eq(0), looked.eq(0)]
        with m.Elif(moved | repeats | repeating.any() | (base >= mark)):
            m.d.sync += [timer.eq(0), mark.eq(sent)]
        with m.Elif(timer >= self.timeout):
            m.d.sync += [scanning.eq(self.active), cursor.eq(base), looked.eq(0), timer.eq(0)]
        with m.Else():
            m.d.sync += timer.eq(timer + 1)
        with m.If(self.begin | self.end):
            m.d.sync += [scanning.eq(0), timer.eq(0)]
        with m.If(self.begin):
            m.d.sync += [sent.eq(0), mark.eq(0)]
        return again, cursor
