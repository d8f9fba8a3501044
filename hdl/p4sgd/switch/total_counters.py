"""Counters of the switch as a whole."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.network.frame import LANES

TOTAL_BITS = 48


class TotalCounters(Component):
    """``packets`` that came with ``taken``, and ``cycles`` from the first to the last of them.

    Both ends count, so equal counters are one packet every cycle. ``saturations`` adds up
    ``saturated``, the lanes of a sum that were clamped. ``clear`` sets all to zero. 48 bits last
    13 days; for saturations 39 hours, with all lanes in every cycle.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            {
                "clear": In(1),
                "taken": In(1),
                "saturated": In(range(LANES + 1)),
                "packets": Out(TOTAL_BITS),
                "saturations": Out(TOTAL_BITS),
                "cycles": Out(TOTAL_BITS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        event = Signal()
        saturated = Signal.like(self.saturated)
        begun = Signal()
        elapsed = Signal(TOTAL_BITS, init=1)  # the cycle in which an event would come now
        m.d.sync += [event.eq(self.taken), saturated.eq(self.saturated)]
        with m.If(self.clear):
            m.d.sync += [self.packets.eq(0), self.cycles.eq(0), elapsed.eq(1), begun.eq(0)]
            m.d.sync += self.saturations.eq(0)
        with m.Else():
            m.d.sync += self.saturations.eq(self.saturations + saturated)
            with m.If(event):
                m.d.sync += [self.packets.eq(self.packets + 1), self.cycles.eq(elapsed)]
                m.d.sync += begun.eq(1)
            with m.If(event | begun):
                m.d.sync += elapsed.eq(elapsed + 1)
        return m
