"""Tracks the frames that came at a port in each of its open turns, and when to acknowledge."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS, SEQ_BITS

DELAY_BITS = 16
#: Describes the host's settings of when a port acknowledges.
ACK_SETTINGS = data.StructLayout(
    {
        "every": 8,  # new frames that one ACK answers, at least 1
        "delay": DELAY_BITS,  # most cycles until a new frame is answered
    }
)


class PortWindow(Component):
    """Keeps a window of frames for each open turn; ``turn`` is the place of a turn, 0 or 1.

    A frame's seq comes with ``turn``; a cycle later ``admit`` says that the frame is a FEATURE or
    PARTIAL of this port that may be added. A new seq is marked; :attr:`latency` cycles after the
    seq ``repeated`` says that it was not new, ``ahead`` that it is beyond the window.

    A window begins at ``base``, the first seq that has not come, and bit k of ``arrived`` is for
    seq ``base + k``. The window moves by one seq a cycle, or by eight, so for some cycles after a
    gap was filled ``base`` itself may be marked. An ACK acknowledges the same frames all the while;
    only a frame more than W ahead of an ACK's base may be refused meanwhile.

    ``acks`` are the windows, and whether an ACK is ``required``: because ``settings.every`` new
    frames have come since the last ACK, because one is ``settings.delay`` cycles old, or because an
    old one was repeated. A bit of ``acked`` says that the ACK leaves now. ``clear`` empties the
    windows, and ``turns`` are their new turns.

    Throughput: a frame a cycle.
    """

    latency = 2

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            settings=In(ACK_SETTINGS),
            clear=In(OPEN_TURNS),
            turns=In(32).array(OPEN_TURNS),
            turn=In(1),
            seq=In(SEQ_BITS),
            admit=In(1),
            repeated=Out(1),
            ahead=Out(1),
            acks=Out(params.ack_state).array(OPEN_TURNS),
            acked=In(OPEN_TURNS),
        )

    def build(self, m: Module) -> None:
        window = self.params.window
        bases = [Signal(SEQ_BITS, name=f"base_{k}") for k in range(OPEN_TURNS)]
        windows = [Signal(window, name=f"arrived_{k}") for k in range(OPEN_TURNS)]
        steps = [self.step(m, arrived, k) for k, arrived in enumerate(windows)]
        # Distance of the seq from the base of the next cycle; negative if it is below.
        far = Signal(SEQ_BITS + 1, reset_less=True)
        turn = Signal(reset_less=True)
        base = Mux(self.turn, bases[1], bases[0])
        step = Mux(self.turn, steps[1], steps[0])
        m.d.sync += [far.eq((self.seq - base - step)[: SEQ_BITS + 1]), turn.eq(self.turn)]
        behind, at = far[-1], far[: len(far) - 1]
        inside = Signal()
        fresh = Signal()
        repeated = Signal()
        m.d.comb += inside.eq(~behind & ~(at >> window.bit_length() - 1).any())
        place = at[: window.bit_length() - 1]
        seen = (Mux(turn, windows[1], windows[0]) >> place)[0]
        m.d.comb += [
            fresh.eq(self.admit & inside & ~seen),
            repeated.eq(self.admit & (behind | (inside & seen))),
        ]
        m.d.sync += [
            self.repeated.eq(repeated),
            self.ahead.eq(self.admit & ~behind & ~inside),
        ]
        for k, (base, arrived, step) in enumerate(zip(bases, windows, steps, strict=True)):
            own = turn if k else ~turn
            mark = Signal(window, name=f"mark_{k}")
            with m.If(self.admit & inside & own):
                m.d.comb += mark.eq(1 << place)
            marked = arrived | mark
            with m.If(self.clear[k]):
                m.d.sync += [arrived.eq(0), base.eq(0)]
            with m.Else():
                moved = Mux(step[3], marked >> 8, Mux(step[0], marked >> 1, marked))
                m.d.sync += [arrived.eq(moved), base.eq((base + step)[:SEQ_BITS])]
            self.acknowledge(m, k, fresh & own, repeated & own)
            m.d.comb += [
                self.acks[k].turn.eq(self.turns[k]),
                self.acks[k].base.eq(base),
                self.acks[k].arrived.eq(arrived),
            ]

    def step(self, m: Module, arrived: Signal, k: int) -> Signal:
        """Return by how much a window moves on: 0, 1 or 8."""
        step = Signal(4, name=f"step_{k}")
        eight = arrived[:8].all() if len(arrived) >= 8 else 0
        m.d.comb += step.eq(Mux(eight, 8, arrived[0]))
        return step

    def acknowledge(self, m: Module, k: int, fresh, repeated) -> None:
        """Decide when an ACK of a turn is wanted."""
        count = Signal(8, name=f"count_{k}")  # new frames since the last ACK
        age = Signal(DELAY_BITS, name=f"age_{k}")  # cycles since the first of them
        expected = Signal(name=f"required_{k}")
        came = Signal(name=f"came_{k}")
        again = Signal(name=f"again_{k}")
        m.d.comb += self.acks[k].required.eq(expected)
        m.d.sync += [came.eq(fresh), again.eq(repeated)]
        due = (count >= self.settings.every) | (age >= self.settings.delay)
        m.d.sync += age.eq(Mux(count.any(), age + ~age.all(), 0)[:DELAY_BITS])
        with m.If(self.clear[k] | self.acked[k]):
            # An ACK also covers frames of the cycle before.
            m.d.sync += [count.eq(0), expected.eq(0)]
        with m.Else():
            m.d.sync += [
                count.eq((count + (came & ~count.all()))[:8]),
                expected.eq(expected | again | (count.any() & due)),
            ]
        with m.If(self.clear[k]):
            m.d.sync += [came.eq(0), again.eq(0)]
