"""Counts the packets, cycles and saturations of the switch as a whole."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.event_counters import CountersParams, EventCounters
from hdl.p4sgd.network.frame import LANES

TOTAL_BITS = 48
COUNTERS = CountersParams(
    name="total", counters=(("packets", 1), ("saturations", LANES.bit_length())), bits=TOTAL_BITS
)


class TotalCounters(Component):
    """Counts ``packets`` that come with ``taken``, and ``cycles`` from the first to the last.

    Both ends count, so these two counters are equal if there was a packet in every cycle.
    ``saturations`` adds up ``saturated``, the lanes of a sum that were clamped. ``clear`` sets all
    to zero. 48 bits last 13 days; for saturations 39 hours, with all lanes in every cycle.
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
        m.submodules.counters = counters = EventCounters(COUNTERS)
        event = Signal()
        begun = Signal()
        elapsed = Signal(TOTAL_BITS, init=1)  # value of ``cycles`` if an event comes now
        m.d.comb += [
            counters.clear.eq(self.clear),
            counters.events.packets.eq(self.taken),
            counters.events.saturations.eq(self.saturated),
            self.packets.eq(counters.counts.packets),
            self.saturations.eq(counters.counts.saturations),
        ]
        m.d.sync += event.eq(self.taken)
        with m.If(self.clear):
            m.d.sync += [self.cycles.eq(0), elapsed.eq(1), begun.eq(0)]
        with m.Else():
            with m.If(event):
                m.d.sync += [self.cycles.eq(elapsed), begun.eq(1)]
            with m.If(event | begun):
                m.d.sync += elapsed.eq(elapsed + 1)
        return m
