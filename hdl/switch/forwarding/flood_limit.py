"""Limits the beats that a port may flood: a token bucket."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component

RATE_BITS = 16
BURST_BITS = 12


class FloodLimit(Component):
    """Lets a packet flood while ``open``; each of its beats, ``floods``, takes a token.

    ``rate`` tokens come in 65,536 cycles, up to ``burst``. A packet that has begun goes on, on
    credit, so that in any time no more beats flood than have tokens, and a longest packet.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            rate=In(RATE_BITS),
            burst=In(BURST_BITS),
            floods=In(1),
            open=Out(1),
        )

    def build(self, m: Module) -> None:
        part = Signal(RATE_BITS)
        earns = Signal()
        tokens = Signal(signed(BURST_BITS + 2))
        below, above = Signal(), Signal()
        change = Mux(earns & below, Mux(self.floods, 0, 1), Mux(self.floods, -1, 0))
        m.d.sync += [
            part.eq((part + self.rate)[:RATE_BITS]),
            earns.eq((part + self.rate)[RATE_BITS]),
            below.eq(tokens < self.burst),
            above.eq(tokens > self.burst),
            tokens.eq(Mux(above, self.burst, (tokens + change)[: len(tokens)])),
            self.open.eq(~tokens[-1] & tokens.any()),
        ]
