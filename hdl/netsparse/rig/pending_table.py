"""Tracks which idxs have a property request under way: the Pending PR Table."""

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.streams import StreamRegister, StreamRegisterParams

RELEASES = 2  #: entries that can be given back in a cycle
GROUP = 8  #: entries whose comparisons are brought together before the first register


@dataclass(frozen=True, kw_only=True)
class PendingTableParams:
    """Sets the sizes of the Pending PR Table (NetSparse, table 5)."""

    entries: int = 256  #: most requests under way, 4..256
    idx_bits: int = 40  #: width of an idx, 8..64
    tag_bits: int = 1  #: width of what goes with a lookup, at least 1

    def __post_init__(self) -> None:
        if not 4 <= self.entries <= 256:
            raise ValueError(f"entries must be from 4 to 256: {self.entries}")
        if not 8 <= self.idx_bits <= 64:
            raise ValueError(f"idx_bits must be from 8 to 64: {self.idx_bits}")
        if self.tag_bits < 1:
            raise ValueError(f"tag_bits must be at least 1: {self.tag_bits}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the entries and the widths of idx and tag."""
        return f"{self.entries}x{self.idx_bits}_t{self.tag_bits}"

    @property
    def entry_bits(self) -> int:
        """Return the width of an entry's index."""
        return ceil_log2(self.entries)

    @property
    def result(self) -> data.StructLayout:
        """Describe what became of a lookup in the table."""
        return data.StructLayout({"idx": self.idx_bits, "coalesced": 1, "entry": self.entry_bits})

    @property
    def release(self) -> data.StructLayout:
        """Describe an entry that is given back."""
        return data.StructLayout({"valid": 1, "entry": self.entry_bits})

    @property
    def placed(self) -> data.StructLayout:
        """Describe an idx that goes into the table."""
        return data.StructLayout({"idx": self.idx_bits, "entry": self.entry_bits})

    @property
    def contents(self) -> data.StructLayout:
        """Describe what an entry of the table holds."""
        return data.StructLayout({"valid": 1, "idx": self.idx_bits})


class FreeEntries(Component):
    """Lists the entries that are free: ``o`` offers one, ``released`` ones come back.

    First come those that were never in use since ``clear``, in order, then the released ones.
    A released entry is offered ``latency`` cycles later if no other waits. ``o.valid`` and
    ``o.payload`` are registers, and ``o.ready`` goes no further than these. Throughput: one out
    and both back in every cycle. Only entries that are in use may be released, each once.
    """

    latency = 2

    def __init__(self, params: PendingTableParams) -> None:
        super().__init__(
            params,
            {
                "released": In(params.release).array(RELEASES),
                "clear": In(1),
                "o": Out(stream.Signature(params.entry_bits)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        entries, bits = self.params.entries, self.params.entry_bits
        front = Signal(bits, reset_less=True)
        spare = Signal(bits, reset_less=True)
        valid = Signal()  # of front
        waiting = Signal()  # of spare
        unused = Signal(range(entries + 1))  # from here on, none was ever in use
        fresh = Signal()
        m.d.comb += [
            fresh.eq(unused != entries),
            self.o.payload.eq(front),
            self.o.valid.eq(valid),
        ]
        with m.If(~waiting & fresh):
            m.d.sync += unused.eq(unused + 1)
        next_entry, found = unused[:bits], fresh
        # A list for each port; the memory is as large as all entries, so neither overflows.
        for k, released in enumerate(self.released):
            head, filled = self.add_list(m, k, released, ~waiting & ~found)
            next_entry, found = Mux(found, next_entry, head), found | filled
        with m.If(~waiting):
            m.d.sync += spare.eq(next_entry)
        with m.If(self.o.ready | ~valid):
            m.d.sync += [
                front.eq(Mux(waiting, spare, next_entry)),
                valid.eq(waiting | found),
                waiting.eq(0),
            ]
        with m.Elif(found):
            m.d.sync += waiting.eq(1)
        with m.If(self.clear):
            m.d.sync += [unused.eq(0), valid.eq(0), waiting.eq(0)]
        return m

    def add_list(self, m: Module, k: int, released, pop) -> tuple[Value, Value]:
        """Add a queue of the entries of a port; return the first one, and whether there is one."""
        bits = self.params.entry_bits
        m.submodules[f"list_{k}"] = words = memory.Memory(
            shape=bits, depth=1 << bits, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = words.write_port(), words.read_port(domain="comb")
        pushed = Signal(bits + 1, name=f"pushed_{k}")
        popped = Signal(bits + 1, name=f"popped_{k}")
        filled = Signal(name=f"filled_{k}")
        m.d.comb += [
            filled.eq(pushed != popped),
            write.addr.eq(pushed[:bits]),
            write.data.eq(released.entry),
            write.en.eq(released.valid),
            read.addr.eq(popped[:bits]),
        ]
        m.d.sync += [pushed.eq(pushed + released.valid), popped.eq(popped + (filled & pop))]
        with m.If(self.clear):
            m.d.sync += [pushed.eq(0), popped.eq(0)]
        return read.data, filled


class PendingTable(Component):
    """Looks up idxs and enters those that are new, in one step: NetSparse, sections 5.2 and 5.3.

    The result of a lookup says whether its idx was in the table, ``coalesced``, or is now, in a
    free ``entry``. Lookups take effect in their order: of equal idxs, however close, only the
    first is entered. The entry of a coalesced one is where its idx was found. Without
    ``coalesce`` every lookup takes an entry; it holds still while there are entries or lookups.
    ``tag`` moves with a lookup, and is ``result_tag`` with its result.

    ``release`` gives entries back that are valid, two different ones in a cycle. The result that
    entered one may still wait at ``results`` or behind it: then the entry may go to another idx
    before it moves, and means nothing (a client does so with all that it gives up). A lookup that
    is taken in the cycle of the release or later does not find the entry any more; one that was
    taken earlier and has no result yet may: then it is coalesced, else it gets an entry of its
    own. So a release must wait until whatever made the entry needless is visible to later
    lookups. The earliest new result with the entry comes three cycles after the release.

    ``read`` is what is in the entry ``read_entry``, at once; an entry is valid from the cycle
    behind the first of its result until its release. ``count`` of them are valid. ``empty`` says
    that there is none, and no result of this or an earlier cycle that will become one.
    ``clear`` forgets all entries; there must be no lookup without a result taken.

    A worked example, in an empty table of four entries; what a client does is in brackets:

        cycle  0, result in 3:  idx 7 is new and takes entry 0 (the filter says 0: a PR leaves)
        cycle  1, result in 4:  idx 9 is new and takes entry 1 (the filter is asked)
        cycle  2, result in 5:  idx 7 is coalesced with entry 0 (no second PR)
        cycle  3, result in 6:  idx 12 is new and takes entry 2
        cycle  8:  release of entry 1 (the filter's bit of idx 9 was set: it is filtered)
        cycle 12:  a response names entry 0; ``read`` says that it is idx 7's (so it is written)
        cycle 16:  release of entry 0 (host memory has the property, and the filter's bit is set)
        cycle 20, result in 23:  idx 7 is new and takes entry 3 (the filter says 1: filtered)
        cycle 21, result in 24:  idx 9 is new and takes entry 1, the first that came back

    Throughput: a lookup a cycle, beside any releases. Latency: ``latency``. ``lookups.ready``
    depends on registers only. Full: a lookup that needs an entry waits, as ``full`` says, and all
    behind it; one that needs none goes on, in two cycles.
    """

    latency = 3

    def __init__(self, params: PendingTableParams) -> None:
        super().__init__(
            params,
            {
                "lookups": In(stream.Signature(params.idx_bits)),
                "tag": In(params.tag_bits),
                "result_tag": Out(params.tag_bits),
                "results": Out(stream.Signature(params.result)),
                "coalesce": In(1),
                "release": In(params.release).array(RELEASES),
                "clear": In(1),
                "read_entry": In(params.entry_bits),
                "read": Out(params.contents),
                "full": Out(1),
                "count": Out(range(params.entries + 1)),
                "empty": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.free = free = FreeEntries(params)
        m.submodules.out = out = StreamRegister(
            StreamRegisterParams(width=params.result.size + params.tag_bits)
        )
        asked_tag = Signal(params.tag_bits, reset_less=True)
        judged_tag = Signal(params.tag_bits, reset_less=True)
        asked = Signal(params.idx_bits, reset_less=True)  # is compared in this cycle
        asked_valid = Signal()
        judged = Signal(params.idx_bits, reset_less=True)  # was compared
        judged_valid = Signal()
        near = Signal(reset_less=True)  # it equals the one before it
        found = Signal(params.entries, reset_less=True)
        groups = Signal(-(-params.entries // GROUP), reset_less=True)  # found in any of these
        missed = Signal()  # the one before it took the entry of placed
        placed = Signal(params.placed, reset_less=True)
        place = Signal()  # in this cycle
        again = Signal()
        hit = Signal()
        known = Signal()  # that it was a hit, a cycle ago
        advance = Signal()
        result = Signal(params.result)
        m.d.comb += [
            again.eq(near & missed),
            hit.eq(self.coalesce & (groups.any() | again)),
            # What may go is known early: a hit that finds the table full looks twice.
            out.i.valid.eq(judged_valid & (free.o.valid | known)),
            advance.eq(~judged_valid | (out.i.ready & (free.o.valid | known))),
            free.o.ready.eq(judged_valid & out.i.ready & ~hit),
            self.lookups.ready.eq(~asked_valid | advance),
            self.full.eq(judged_valid & ~free.o.valid & ~hit),
            result.idx.eq(judged),
            result.coalesced.eq(hit),
            result.entry.eq(
                Mux(hit, index_of(found) | Mux(again, placed.entry, 0), free.o.payload)
            ),
            out.i.payload.eq(Cat(result, judged_tag)),
            Cat(self.results.payload, self.result_tag).eq(out.o.payload),
            self.results.valid.eq(out.o.valid),
            out.o.ready.eq(self.results.ready),
            free.clear.eq(self.clear),
        ]
        m.d.sync += [known.eq(judged_valid & hit & ~advance), place.eq(0)]
        with m.If(self.lookups.ready):
            m.d.sync += [
                asked.eq(self.lookups.payload),
                asked_tag.eq(self.tag),
                asked_valid.eq(self.lookups.valid),
            ]
        with m.If(advance):
            m.d.sync += [
                judged.eq(asked),
                judged_tag.eq(asked_tag),
                judged_valid.eq(asked_valid),
                near.eq(judged_valid & (asked == judged)),
                placed.idx.eq(judged),
                placed.entry.eq(free.o.payload),
                missed.eq(~hit),
                place.eq(judged_valid & ~hit),
            ]
        with m.If(self.clear):
            m.d.sync += [known.eq(0), place.eq(0), asked_valid.eq(0), judged_valid.eq(0)]
        matches = self.add_entries(m, asked, place, placed)
        with m.If(advance):
            m.d.sync += [
                found.eq(matches),
                groups.eq(Cat(matches[k : k + GROUP].any() for k in range(0, len(found), GROUP))),
            ]
        self.add_count(m, place)
        inside = asked_valid | judged_valid | self.results.valid
        expect(
            m,
            self,
            clear_in_quiet=lambda: ~self.clear | ~(inside | self.lookups.valid),
            coalesce_changes_in_quiet=lambda: self.changes_in_quiet(m, inside | ~self.empty),
        )
        return m

    def changes_in_quiet(self, m: Module, busy: Value) -> Value:
        """State that ``coalesce`` stays as it is while there are entries or lookups."""
        before = Signal()
        begun = Signal()
        m.d.sync += [before.eq(self.coalesce), begun.eq(1)]
        return ~begun | (self.coalesce == before) | ~busy

    def add_entries(self, m: Module, asked, place, placed) -> Value:
        """Keep what is in the table twice: in registers to be compared and in a memory to be read.

        Returned is which entries are the one that is asked for.
        """
        params = self.params
        m.submodules.contents = contents = memory.Memory(
            shape=params.idx_bits,
            depth=params.entries,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = contents.write_port(), contents.read_port(domain="comb")
        valid = Signal(params.entries)
        matches = Signal(params.entries)
        same = Signal()  # as what is placed in this cycle
        m.d.comb += [
            same.eq(asked == placed.idx),
            write.addr.eq(placed.entry),
            write.data.eq(placed.idx),
            write.en.eq(place),
            read.addr.eq(self.read_entry),
            self.read.idx.eq(read.data),
            self.read.valid.eq(Array(valid)[self.read_entry]),
        ]
        for k, port in enumerate(self.release):
            m.d.comb += m.submodules.free.released[k].eq(port)
        for k in range(params.entries):
            idx = Signal(params.idx_bits, name=f"idx_{k}", reset_less=True)
            enter = place & (placed.entry == k)
            leave = Cat(port.valid & (port.entry == k) for port in self.release).any()
            with m.If(enter):
                m.d.sync += idx.eq(placed.idx)
            m.d.comb += matches[k].eq(Mux(enter, same, valid[k] & (asked == idx)))
            m.d.sync += valid[k].eq((valid[k] | enter) & ~leave & ~self.clear)
        first, second = self.release
        twice = first.valid & second.valid & (first.entry == second.entry)
        gone = [port.valid & ~Array(valid)[port.entry] for port in self.release]
        expect(m, self, releases_what_is_valid_once=lambda: ~(twice | Cat(gone).any()))
        return matches

    def add_count(self, m: Module, place) -> None:
        """Count how many entries are valid."""
        m.d.sync += self.count.eq(self.count + place - sum(port.valid for port in self.release))
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
        m.d.comb += self.empty.eq((self.count == 0) & ~place)
