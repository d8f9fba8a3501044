"""Tracks which properties a Property Cache holds, in which ways, and which is replaced next."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.netsparse.lru import after_use, least_recent
from hdl.netsparse.property_cache.params import (
    COMPARED,
    DECIDED,
    FIND,
    REACH,
    READ,
    Operation,
    PropertyCacheParams,
)
from hdl.netsparse.property_cache.slot_history import SlotHistory
from hdl.switch.update_memory import UpdateMemory


class PropertyTags(Component):
    """Looks up the tag of each ``slot`` in the ways of its row; true LRU (section 6.2.2, table 5).

    A lookup that finds its tag makes the way the most recent one; a lookup that does not changes
    nothing. An insert takes the least recently used way, unless its tag is there: then neither the
    row nor the order changes. CLEAR empties all ways and makes way 0 the oldest one, so that empty
    ways are taken in ascending order before any other.

    Each slot is decided as if all earlier ones were done, also those of its row in the cycles just
    before it. A row's valid ways and their order are read, changed and written in one cycle
    (:class:`UpdateMemory`). Its tags are not: the comparison with the tags from memory is corrected
    by the ways that the last REACH slots found or took.

    Latency: :attr:`latency` from ``slot`` to ``verdict``; one slot a cycle.
    """

    latency = FIND

    def __init__(self, params: PropertyCacheParams) -> None:
        super().__init__(params, slot=In(params.slot), verdict=Out(params.verdict))

    def build(self, m: Module) -> None:
        m.submodules.history = history = SlotHistory(self.params)
        m.d.comb += history.slot.eq(self.slot)
        slots = [self.slot, *(history.past[k] for k in range(REACH))]  # by cycles before now
        place = self.verdict.way
        equal = self.compare(m, slots, self.verdict.installed.replicate(len(place)) & place)
        places = [place, *(delay(m, place, k, f"place_{k}") for k in range(1, REACH - 1))]
        row = delay(m, history.same_row, COMPARED - history.latency, "same_row")
        line = delay(m, history.same_line, COMPARED - history.latency, "same_line")
        for k in reversed(range(1, REACH)):
            equal = self.mend(m, equal, row[k], line[k], places[k - 1])
        known = Signal(self.params.ways, reset_less=True)
        m.d.sync += known.eq(equal)
        row, line = (delay(m, bits[0], 1, name) for bits, name in ((row, "row"), (line, "line")))
        self.decide(m, slots, self.mend(m, known, row, line, place))

    def compare(self, m: Module, slots, written):
        """Return the ways whose tag in memory is the slot's, COMPARED cycles after it.

        ``written`` are the ways that take the tag of the slot that was just decided.
        """
        equal = Signal(self.params.ways, reset_less=True)
        for way in range(self.params.ways):
            m.submodules[f"tags_{way}"] = memory = DualPortMemory(self.params.tag_memory)
            m.d.comb += [
                memory.read_address.eq(slots[0].row),
                memory.write.eq(written[way]),
                memory.write_address.eq(slots[FIND].row),
                memory.write_data.eq(slots[FIND].tag),
            ]
            m.d.sync += equal[way].eq(memory.read_data == slots[READ].tag)
        return equal

    def mend(self, m: Module, ways, same_row, same_line, place):
        """Return the ``ways`` with a slot's tag, corrected for an earlier slot at ``place``."""
        mended = Signal(self.params.ways)
        with m.If(same_line):
            m.d.comb += mended.eq(place)
        with m.Elif(same_row):
            m.d.comb += mended.eq(ways & ~place)
        with m.Else():
            m.d.comb += mended.eq(ways)
        return mended

    def decide(self, m: Module, slots, ways) -> None:
        """Decide the slot of DECIDED cycles ago, whose tag is in one of ``ways``, if valid."""
        params = self.params
        m.submodules.rows = rows = UpdateMemory(params.row_memory)
        before, after = rows.before, rows.after
        operation = slots[DECIDED].operation
        hits = Signal(params.ways)
        taken = Signal(params.ways)
        used = Signal(params.ways)
        newer = Signal(len(before.newer), name="newer_after")
        inserts = operation == Operation.INSERT
        looks_up = operation == Operation.LOOKUP
        m.d.comb += [
            rows.address.eq(slots[DECIDED - UpdateMemory.lead].row),
            rows.write.eq(operation != Operation.NONE),
            hits.eq(ways & before.holds),
            after.holds.eq(before.holds | taken),
            used.eq(taken | (hits & looks_up.replicate(params.ways))),
            newer.eq(after_use(before.newer, used)),
            after.newer.eq(newer),
        ]
        with m.If(inserts & ~hits.any()):
            m.d.comb += taken.eq(least_recent(before.newer, params.ways))
        with m.If(operation == Operation.CLEAR):
            m.d.comb += rows.after.eq(0)
        full = before.holds[-1]  # the highest way is taken last
        m.d.sync += [
            self.verdict.result.eq((inserts | looks_up) & hits.any()),
            self.verdict.installed.eq(inserts & ~hits.any()),
            self.verdict.replaced.eq(inserts & ~hits.any() & full),
            self.verdict.way.eq(hits | taken),
        ]
        m.d.comb += self.verdict.row.eq(slots[FIND].row)
