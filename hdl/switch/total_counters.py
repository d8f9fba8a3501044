"""Counts the packets, cycles and saturations of the switch as a whole."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.event_counters import CountersParams, EventCounters
from hdl.common.params import Params, whole

TOTAL_BITS = 48


class TotalParams(Params, suffix="{packets}_{saturated}"):
    """Sets how much a cycle adds at most."""

    packets: int = whole(1, 64, default=1)  #: packets of a cycle
    saturated: int = whole(1, 1 << 16)  #: clamped numbers of a cycle

    @property
    def counters(self) -> CountersParams:
        """Return the counters, and the widths of what a cycle adds to them."""
        widths = (
            ("packets", self.packets.bit_length()),
            ("saturations", self.saturated.bit_length()),
        )
        return CountersParams(name=f"total_{self.suffix}", counters=widths, bits=TOTAL_BITS)


class TotalCounters(Component):
    """Counts ``packets``, of which ``taken`` come in a cycle, and cycles from first to last.

    Both ends of ``cycles`` count, so it equals ``packets`` if there was one packet in every cycle.
    ``saturations`` adds up ``saturated``, the numbers of sums that were clamped. ``clear`` sets all
    to zero. 48 bits last 13 days with an event in every cycle.
    """

    def __init__(self, params: TotalParams) -> None:
        super().__init__(
            params,
            clear=In(1),
            taken=In(range(params.packets + 1)),
            saturated=In(range(params.saturated + 1)),
            packets=Out(TOTAL_BITS),
            saturations=Out(TOTAL_BITS),
            cycles=Out(TOTAL_BITS),
        )

    def build(self, m: Module) -> None:
        m.submodules.counters = counters = EventCounters(self.params.counters)
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
        m.d.sync += event.eq(self.taken.any())
        with m.If(self.clear):
            m.d.sync += [self.cycles.eq(0), elapsed.eq(1), begun.eq(0)]
        with m.Else():
            with m.If(event):
                m.d.sync += [self.cycles.eq(elapsed), begun.eq(1)]
            with m.If(event | begun):
                m.d.sync += elapsed.eq(elapsed + 1)
