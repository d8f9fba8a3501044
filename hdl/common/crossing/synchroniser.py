"""Synchronises levels from another clock, with two registers each."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import Crossing
from hdl.common.params import ruled
from hdl.common.shaped import AnyShape, ShapedParams

#: attribute that keeps the registers of a synchroniser adjacent, without logic between them
ASYNC = {"ASYNC_REG": "TRUE"}


class SynchroniserParams(ShapedParams, suffix="{width}"):
    """Sets the shape of the levels that a :class:`Synchroniser` transfers."""

    shape: Any = ruled(AnyShape(), default=1)  #: of the levels, which cross independently


class Synchroniser(Component):
    """Transfers ``i``, which may change at any time, to ``o``, two cycles later.

    ``i`` comes directly from registers. Bits that change together may arrive a cycle apart, so
    several bits must be independent levels or a Gray code. A level that lasts less than a cycle and
    a half may be missed. Registers: ``first``, then ``o``; no reset reaches them.
    """

    latency = 2
    constraint = "synchroniser"
    keeps_boundary = True

    def __init__(self, params: SynchroniserParams) -> None:
        self.crossings = (
            Crossing(path="", constraint=self.constraint, source="any", target="sync"),
        )
        super().__init__(params, i=In(params.shape), o=Out(params.shape))

    def build(self, m: Module) -> None:
        first = Signal(self.params.width, reset_less=True, attrs=ASYNC)
        o = Signal(self.params.width, reset_less=True, attrs=ASYNC)
        m.d.sync += [first.eq(self.i), o.eq(first)]
        m.d.comb += self.o.eq(o)
