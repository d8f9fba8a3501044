"""Has a component to break: a saturating counter, part of whose logic cannot matter."""

from amaranth.hdl import Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params


class TallyParams(Params, suffix="{bits}"):
    bits: int = 4


class Tally(Component):
    """Counts while ``step``, up to its largest value."""

    def __init__(self, params):
        super().__init__(params, step=In(1), total=Out(params.bits))

    def build(self, m):
        full = Signal()
        never = Signal()
        m.d.comb += full.eq(self.total.all())
        m.d.sync += never.eq(never & self.step)
        with m.If(self.step & ~full & ~never):
            m.d.sync += self.total.eq(self.total + 1)


class SeenTally(Tally):
    """A tally that shows more of itself."""

    def __init__(self, params):
        plain = Tally(params)
        Component.__init__(self, params, {**plain.signature.members, "steps": Out(1)})

    def build(self, m):
        super().build(m)
        m.d.comb += self.steps.eq(self.step & ~self.total.all())


class Pair(Component):
    """Two of the tallies."""

    def __init__(self, params):
        super().__init__(params, step=In(1), first=Out(params.bits), second=Out(params.bits))

    def build(self, m):
        m.submodules.a = a = Tally(self.params)
        m.submodules.b = b = Tally(self.params)
        m.d.comb += [a.step.eq(self.step), b.step.eq(~self.step)]
        m.d.comb += [self.first.eq(a.total), self.second.eq(b.total)]
