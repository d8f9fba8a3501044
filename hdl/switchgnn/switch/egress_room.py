"""Tracks how much of a port's queue of beats is free, and when the next frame may be made."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.switch.params import GnnSwitchParams


class EgressRoom(Component):
    """Counts the beats of the queue that nobody has a claim to.

    A ``claim`` takes room for the longest frame; it may come if ``open`` was high in the cycle
    before, in which there was no other claim. All of it is given back with ``voided``, the rest of
    it with ``shorter``, when the frame is a RAW, and a beat with ``left``, when it has left the
    queue.

    A frame is made a beat a cycle, so ``open`` keeps claims at least ``params.result_beats`` cycles
    apart, and no more than that while there is room. It is a gate behind registers and tells
    nothing of a claim in the same cycle. What is given back opens it two cycles later.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            {
                "claim": In(1),
                "voided": In(1),
                "shorter": In(1),
                "left": In(1),
                "open": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        depth, beats = self.params.egress_depth, self.params.result_beats
        # The sign of what would be free behind one more claim is all that has to be looked at.
        spare = Signal(signed(bits_for(depth) + 1), init=depth - beats)
        back = Signal(bits_for(beats + 1))  # beats that are given back
        back_behind_claim = Signal(signed(len(back) + 1), init=-beats)
        given = Mux(self.voided, beats, Mux(self.shorter, beats - self.params.raw_beats, 0))
        given = given + self.left
        apart = Signal(init=1)
        m.d.sync += [
            back.eq(given),
            back_behind_claim.eq(given - beats),
            spare.eq((spare + Mux(self.claim, back_behind_claim, back))[: len(spare)]),
        ]
        if beats > 2:
            claims = [self.claim]  # and those of the cycles before
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
        return m
