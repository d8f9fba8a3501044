"""Has a small hierarchy: a register placed three times, two of them alike."""

from dataclasses import dataclass

from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params


class LeafParams(Params, suffix="{bits}"):
    bits: int = 4


class Leaf(Component):
    def __init__(self, params):
        super().__init__(params, a=In(params.bits), b=Out(params.bits))

    def build(self, m):
        m.d.sync += self.b.eq((self.a + 1)[: self.params.bits])


@dataclass(frozen=True, kw_only=True)
class PairParams:
    bits: int = 4


class Pair(Component):
    latencies = {"first": 1, "second": 2}

    def __init__(self, params):
        super().__init__(params, x=In(params.bits), y=Out(params.bits), z=Out(9))

    def build(self, m):
        m.submodules.first = first = Leaf(LeafParams(bits=self.params.bits))
        m.submodules.second = second = Leaf(LeafParams(bits=self.params.bits))
        m.submodules.wide = wide = Leaf(LeafParams(bits=9))
        m.d.comb += [
            first.a.eq(self.x),
            second.a.eq(first.b),
            self.y.eq(second.b),
            wide.a.eq(self.x),
            self.z.eq(wide.b),
        ]
