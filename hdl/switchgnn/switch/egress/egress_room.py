"""Tracks the free beats of a port's queue, and when the next frame may be built."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.switch.params import GnnSwitchParams


class EgressRoom(Component):
    """Counts the beats of the queue that are not claimed.

    A ``claim`` takes room for the longest frame; it is allowed if ``open`` was high in the cycle
    before, without another claim. ``voided`` returns all of it, ``shorter`` returns the surplus if
    the frame is a RAW, and ``left`` returns a beat that has left the queue.

    A frame is built a beat a cycle, so ``open`` keeps claims at least ``params.result_beats``
    cycles apart, and not more than that while there is room. It is a gate after registers, and does
    not reflect a claim of the same cycle. Returned room opens it two cycles later.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            claim=In(1),
            voided=In(1),
            shorter=In(1),
            left=In(1),
            open=Out(1),
        )

    def build(self, m: Module) -> None:
        depth, beats = self.params.egress_depth, self.params.result_beats
        # The room that another claim would leave: only its sign has to be examined.
        spare = Signal(signed(bits_for(depth) + 1), init=depth - beats)
        back = Signal(bits_for(beats + 1))  # beats that are returned
        back_behind_claim = Signal(signed(len(back) + 1), init=-beats)
        apart = Signal(init=1)
        m.d.sync += [
            back.eq(self.returned(0)),
            back_behind_claim.eq(self.returned(-beats)),
            spare.eq((spare + Mux(self.claim, back_behind_claim, back))[: len(spare)]),
        ]
        if beats > 2:
            claims = [self.claim]  # this cycle's claim, then those of the cycles before
            for k in range(beats - 3):
                claims.append(delay(m, claims[-1], 1, f"claim_{k}", reset_less=False))
            m.d.sync += apart.eq(~Cat(claims).any())
        m.d.comb += self.open.eq((spare >= 0) & apart)
        expect(
            m,
            self,
            claims_find_room=lambda: (
                ~self.claim | delay(m, self.open & ~self.claim, 1, "was_open", reset_less=False)
            ),
            gives_back_one_claim=lambda: ~(self.voided & self.shorter),
        )

    def returned(self, base: int) -> Value:
        """Return ``base`` and the beats that are returned: one of all sums, without an adder."""
        beats = self.params.result_beats

        def with_left(count: int) -> Value:
            return Mux(self.left, base + count + 1, base + count)

        rest = with_left(0)
        if beats > self.params.raw_beats:
            rest = Mux(self.shorter, with_left(beats - self.params.raw_beats), rest)
        return Mux(self.voided, with_left(beats), rest)
