"""Transfers a counter's value from one clock to another, in Gray code."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import Crossing
from hdl.common.crossing.synchroniser import ASYNC
from hdl.common.params import Params, whole


class GrayCrossingParams(Params, suffix="{bits}"):
    """Sets the width of the number that crosses."""

    bits: int = whole(2)  #: width of the number


class GrayCrossing(Component):
    """Transfers ``value`` from clock domain ``write`` to ``read``, as the Gray code ``seen``.

    ``value`` must change by one, up or down, at a time; it may jump only while ``seen`` is not
    used. ``gray`` is its code a cycle of ``write`` later, and ``seen`` is that code two cycles of
    ``read`` later: some values may be skipped, but they stay in order. Registers: ``gray``,
    ``first``, ``seen``; no reset reaches them.
    """

    domains = ("write", "read")
    constraint = "gray_crossing"
    keeps_boundary = True

    def __init__(self, params: GrayCrossingParams) -> None:
        self.crossings = (
            Crossing(path="", constraint=self.constraint, source="write", target="read"),
        )
        bits = params.bits
        super().__init__(params, value=In(bits), gray=Out(bits), seen=Out(bits))

    def build(self, m: Module) -> None:
        bits = self.params.bits
        # The constraint names this register, so it must not be merged with an equal one.
        code = Signal(bits, reset_less=True, attrs={"DONT_TOUCH": "TRUE"})
        first = Signal(bits, reset_less=True, attrs=ASYNC)
        seen = Signal(bits, reset_less=True, attrs=ASYNC)
        m.d.write += code.eq(gray(self.value))
        m.d.read += [first.eq(code), seen.eq(first)]
        m.d.comb += [self.gray.eq(code), self.seen.eq(seen)]


def gray(value: Value) -> Value:
    """Return the Gray code of a number."""
    return value ^ value[1:]
