"""Controls the rate at which frames leave, which congestion marks lower (a token bucket)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import RATE_SETTINGS
from hdl.switchgnn.endpoint.params import EndpointParams

UNIT = 1 << 16  #: a rate is a number of beats in so many cycles, so a beat costs so many tokens
UNIT_BITS = exact_log2(UNIT)
TOKEN_BITS = UNIT_BITS + 14  #: width of a signed number of tokens: a burst, or a frame's overdraft


class TokenBucket(Component):
    """``may_begin`` says whether a frame may begin; ``beat`` says that a beat has left.

    Every cycle adds ``rate`` tokens, up to those of ``burst`` beats; a beat costs 65,536, a cycle
    later. A frame may begin while the tokens are not negative, and may overdraw them. So in any
    period at most rate / 65,536 beats a cycle leave, plus a burst and two frames.

    ``congested`` halves the rate, down to ``least``, unless the rate was halved within the last
    ``round_trip`` cycles; ``halved`` reports a halving. After each round trip without a halving the
    rate grows by ``step``, up to ``most``, which is also its value after a reset. While ``enabled``
    is low, from the next cycle on, frames may always begin.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            settings=In(RATE_SETTINGS),
            congested=In(1),
            beat=In(1),
            may_begin=Out(1),
            halved=Out(1),
            rate=Out(17),
        )

    def build(self, m: Module) -> None:
        settings = self.settings
        tokens = Signal(signed(TOKEN_BITS))
        most = Signal(signed(TOKEN_BITS))
        left = Signal()  # a beat left in the previous cycle
        m.d.comb += [
            most.eq(Cat(Const(0, UNIT_BITS), settings.burst)),
            self.may_begin.eq(~tokens[-1]),
        ]
        m.d.sync += left.eq(self.beat)
        with m.If(~settings.enabled):
            m.d.sync += tokens.eq(0)
        with m.Elif((tokens >= most) & ~left):
            m.d.sync += tokens.eq(most)
        with m.Else():
            spent = Cat(Const(0, UNIT_BITS), left)
            m.d.sync += tokens.eq((tokens + self.rate - spent)[:TOKEN_BITS])
        self.adapt(m)

    def adapt(self, m: Module) -> None:
        """Halve the rate, or let it grow."""
        settings = self.settings
        begun = Signal()
        recent = Signal()  # the rate was halved in this round trip
        time = Signal(24, reset_less=True)
        over = Signal()
        half = self.rate >> 1
        # The rate from which a step would exceed ``most``, in advance: no path has two carry
        # chains.
        near = Signal(signed(18), reset_less=True)
        grown = (self.rate + settings.step)[: len(self.rate)]
        m.d.comb += [
            over.eq(time >= settings.round_trip),
            self.halved.eq(self.congested & settings.enabled & begun & (~recent | over)),
        ]
        m.d.sync += [begun.eq(1), near.eq(settings.most - settings.step)]
        with m.If(~begun):
            m.d.sync += [self.rate.eq(settings.most), time.eq(0)]
        with m.Elif(self.halved):
            m.d.sync += [
                self.rate.eq(Mux(half < settings.least, settings.least, half)),
                recent.eq(1),
                time.eq(0),
            ]
        with m.Elif(over):
            m.d.sync += [
                self.rate.eq(Mux(self.rate > near, settings.most, grown)),
                recent.eq(0),
                time.eq(0),
            ]
        with m.Else():
            m.d.sync += time.eq(time + 1)
