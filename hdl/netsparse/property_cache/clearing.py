"""Empties a Property Cache, row by row."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.property_cache.params import PropertyCacheParams


class RowClearing(Component):
    """Counts all rows after ``begin`` and after a reset, one a cycle, from the next cycle on.

    ``busy`` is high meanwhile: for as many cycles as there are rows, after the last ``begin``. A
    ``begin`` while ``busy`` restarts the count. The contents of memories survive a reset, so a
    reset must clear them, too.
    """

    latency = 1

    def __init__(self, params: PropertyCacheParams) -> None:
        super().__init__(params, begin=In(1), busy=Out(1), row=Out(params.row_bits))

    def build(self, m: Module) -> None:
        busy = Signal(init=1)
        m.d.comb += self.busy.eq(busy)
        with m.If(self.begin):
            m.d.sync += [busy.eq(1), self.row.eq(0)]
        with m.Elif(busy):
            m.d.sync += [busy.eq(~self.row.all()), self.row.eq(self.row + 1)]
