"""Adds in a bank, with adders that include the multiplexer of their operand."""

from amaranth.hdl import Array, Const, Module, Mux
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams


class SumsFrom(enum.Enum, shape=2):
    """Names the places of the latest sums of an aggregator."""

    NOWHERE = 0  #: there are no sums to be added to
    NEWEST = 1  #: the sums written in the previous cycle
    OLDER = 2  #: the sums written in the cycle before that
    MEMORY = 3


class SumAdders(Component):
    """Adds ``payload`` to the sums of ``source``, lane by lane, modulo 2^32, or passes it on.

    With ``maximum``, if ``params.maxima`` gives one, the result is the larger of both.

    Without ``maximum`` the multiplexer costs no LUT and no level: the LUT of an adder's bit has six
    inputs, which are a bit of the payload, one of each source, and ``source``. The adders are a
    component of their own, because a technology mapper that sees the logic of ``source`` uses two
    LUTs. Latency: none.
    """

    latency = 0

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            source=In(SumsFrom),
            newest=In(params.bank_sums),
            older=In(params.bank_sums),
            stored=In(params.bank_sums),
            payload=In(params.bank_sums),
            after=Out(params.bank_sums),
            **{name: In(bits) for name, bits in params.maximum.items()},
        )

    def build(self, m: Module) -> None:
        for k, value in enumerate(self.payload):
            zero = Const(0, value.shape())
            sources = Array((zero, self.newest[k], self.older[k], self.stored[k]))
            stored = sources[self.source.as_value()]
            result = low_bits(value + stored, len(value))
            if self.params.maxima:
                first = self.source == SumsFrom.NOWHERE
                larger = Mux(first | (value > stored), value, stored)
                result = Mux(self.maximum, larger, result)
            m.d.comb += self.after[k].eq(result)
