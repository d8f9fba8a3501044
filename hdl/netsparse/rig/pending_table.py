"""Implements the Pending PR Table: the idxs with a property request under way."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.params import Params, choice, whole
from hdl.common.streams import StreamRegister, forward
from hdl.netsparse.rig.entry_rows import DIGIT, MAX_ROWS, MAX_WAYS, hash_of, rows_of
from hdl.netsparse.rig.pending_way import RELEASES, PendingWay, PendingWayParams

MAX_ENTRIES = MAX_ROWS * MAX_WAYS
SIZES = (*range(4, MAX_WAYS + 1), *(MAX_WAYS << bit for bit in range(1, DIGIT + 1)))


class PendingTableParams(Params, suffix="{entries}x{idx_bits}_w{used_ways}_t{tag_bits}"):
    """Sets the sizes of the Pending PR Table (NetSparse, table 5) and of its streams."""

    entries: int = choice(*SIZES, default=MAX_ENTRIES)  #: most requests under way
    #: number of ways; an idx may be in one row of each
    ways: int = whole(1, MAX_WAYS, default=MAX_WAYS)
    idx_bits: int = whole(8, 64, default=40)  #: width of an idx
    tag_bits: int = whole(1, default=1)  #: width of the tag of a lookup

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.entries % self.used_ways or self.rows not in (1, 2, 4, 8, 16):
            raise ValueError(
                f"entries must be ways x 1, 2, 4, 8 or 16 rows: {self.entries} entries in"
                f" {self.ways} ways"
            )

    @property
    def used_ways(self) -> int:
        """Return the number of ways: no more than there are entries."""
        return min(self.ways, self.entries)

    @property
    def rows(self) -> int:
        """Return the number of rows of a way."""
        return self.entries // self.used_ways

    @property
    def way(self) -> PendingWayParams:
        """Return the size of a way."""
        return PendingWayParams(rows=self.rows, idx_bits=self.idx_bits)

    @property
    def row_bits(self) -> int:
        """Return the number of low bits of an entry's index with its row; 0 if there is one row."""
        return ceil_log2(self.rows)

    @property
    def entry_bits(self) -> int:
        """Return the width of an entry's index."""
        return ceil_log2(self.entries)

    @property
    def result(self) -> data.StructLayout:
        """Describe the result of a lookup."""
        return data.StructLayout({"idx": self.idx_bits, "coalesced": 1, "entry": self.entry_bits})

    @property
    def release(self) -> data.StructLayout:
        """Describe an entry that is released."""
        return data.StructLayout({"valid": 1, "entry": self.entry_bits})

    @property
    def placed(self) -> data.StructLayout:
        """Describe an idx that is entered in the table."""
        return data.StructLayout({"idx": self.idx_bits, "entry": self.entry_bits})

    @property
    def contents(self) -> data.StructLayout:
        """Describe the contents of an entry."""
        return data.StructLayout({"valid": 1, "idx": self.idx_bits})


class PendingTable(Component):
    """Looks up idxs and enters new ones, in one step (NetSparse, sections 5.2 and 5.3).

    The result of a lookup says whether its idx was in the table already (``coalesced``), or was
    entered now, in a free ``entry``. Lookups take effect in order: of equal idxs, however close,
    only the first is entered. The entry of a coalesced idx is the one in which it was found.
    ``tag`` accompanies a lookup, and is ``result_tag`` with its result.

    An idx may be in one entry of each way, in the row given by its hash
    (:mod:`hdl.netsparse.rig.entry_rows`); it takes the lowest way that is free there. An entry's
    index is its row with its way above it. Without ``coalesce``, which must be stable while there
    are entries or lookups, every lookup takes an entry, in rows that are hashed from its number.

    ``release`` frees valid entries, up to two different ones in a cycle. If the result that entered
    one still waits at ``results`` or inside, the entry may go to another idx before that result is
    taken, and the result's entry is then undefined (a client does so when it cancels). A lookup
    that is taken in the cycle of the release or later does not find the entry any more; one that
    was taken earlier and has no result yet may find it: then it is coalesced, otherwise it gets an
    entry of its own. So a release must wait until later lookups can see the reason why the entry is
    no longer needed. The earliest new result with the entry comes three cycles after the release.

    ``read`` is the contents of the entry ``read_entry``, in the same cycle; an entry is valid from
    the cycle after the first one of its result until its release. ``count`` is the number of valid
    entries. ``empty`` says that there is none, and that no result of this or an earlier cycle will
    become one. ``clear`` frees all entries; all lookups must have results that were taken.

    A worked example, in an empty table of four ways of one row; what a client does is in brackets:

        cycle  0, result in 3:  idx 7 is new and takes entry 0 (the filter says 0: a PR leaves)
        cycle  1, result in 4:  idx 9 is new and takes entry 1 (the filter is asked)
        cycle  2, result in 5:  idx 7 is coalesced with entry 0 (no second PR)
        cycle  3, result in 6:  idx 12 is new and takes entry 2
        cycle  8:  release of entry 1 (the filter's bit of idx 9 was set: it is filtered)
        cycle 12:  a response names entry 0; ``read`` says that it is idx 7's (so it is written)
        cycle 16:  release of entry 0 (host memory has the property, and the filter's bit is set)
        cycle 20, result in 23:  idx 7 is new and takes entry 0 (the filter says 1: filtered)
        cycle 21, result in 24:  idx 9 is new and takes entry 1

    Throughput: a lookup a cycle, and any releases. Latency: ``latency``. ``lookups.ready`` depends
    on registers only. Full: a lookup whose rows are all taken waits, with all lookups after it, and
    ``full`` is high; a lookup that needs no entry goes on, in two cycles. This happens before all
    entries are taken: under constant load 16 ways of 16 rows hold some 215 idxs.
    """

    latency = 3

    def __init__(self, params: PendingTableParams) -> None:
        super().__init__(
            params,
            lookups=In(stream.Signature(params.idx_bits)),
            tag=In(params.tag_bits),
            result_tag=Out(params.tag_bits),
            results=Out(stream.Signature(params.result)),
            coalesce=In(1),
            release=In(params.release).array(RELEASES),
            clear=In(1),
            read_entry=In(params.entry_bits),
            read=Out(params.contents),
            full=Out(1),
            count=Out(range(params.entries + 1)),
            empty=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        provided = data.StructLayout({"result": params.result, "tag": params.tag_bits})
        m.submodules.out = out = StreamRegister.sized(shape=provided)
        requested = Signal(params.idx_bits, reset_less=True)  # idx that is compared in this cycle
        requested_rows = [
            Signal(params.way.row_bits, name=f"requested_row_{way}", reset_less=True)
            for way in range(params.used_ways)
        ]
        requested_tag = Signal(params.tag_bits, reset_less=True)
        requested_valid = Signal()
        judged = Signal(params.idx_bits, reset_less=True)  # idx that was compared
        judged_tag = Signal(params.tag_bits, reset_less=True)
        judged_valid = Signal()
        near = Signal(reset_less=True)  # it equals the previous idx
        missed = Signal()  # the previous one took the entry of ``placed``
        placed = Signal(params.placed, reset_less=True)
        place = Signal()  # an idx is entered in this cycle
        place_in = Signal(params.used_ways)  # way that it is entered in
        again = Signal()
        hit = Signal()
        known = Signal()  # it was a hit a cycle ago
        advance = Signal()
        result = Signal(params.result)
        ways = self.add_ways(m, requested, requested_rows, advance, place_in, placed)
        observed, room, free = self.choose(ways)
        m.d.comb += [
            again.eq(near & missed),
            hit.eq(self.coalesce & (Cat(way.result for way in ways).any() | again)),
            # ``valid`` must be known early, so a hit without room is looked up a second time.
            out.i.valid.eq(judged_valid & (room | known)),
            advance.eq(~judged_valid | (out.i.ready & (room | known))),
            self.lookups.ready.eq(~requested_valid | advance),
            self.full.eq(judged_valid & ~room & ~hit),
            result.idx.eq(judged),
            result.coalesced.eq(hit),
            result.entry.eq(Mux(hit, observed | Mux(again, placed.entry, 0), free)),
            out.i.payload.result.eq(result),
            out.i.payload.tag.eq(judged_tag),
            self.results.payload.eq(out.o.payload.result),
            self.result_tag.eq(out.o.payload.tag),
            *forward(out.o, self.results),
        ]
        m.d.sync += [known.eq(judged_valid & hit & ~advance), place.eq(0), place_in.eq(0)]
        self.take(m, requested, requested_rows, requested_tag, requested_valid)
        with m.If(advance):
            m.d.sync += [
                judged.eq(requested),
                judged_tag.eq(requested_tag),
                judged_valid.eq(requested_valid),
                near.eq(judged_valid & (requested == judged)),
                placed.idx.eq(judged),
                placed.entry.eq(free),
                missed.eq(~hit),
                place.eq(judged_valid & ~hit),
                *(
                    item.eq(judged_valid & ~hit & (self.parts(free)[1] == way))
                    for way, item in enumerate(place_in)
                ),
            ]
        with m.If(self.clear):
            states = (known, place, place_in, requested_valid, judged_valid)
            m.d.sync += [state.eq(0) for state in states]
        self.show(m, ways, place, placed)
        self.expect_quiet(m, requested_valid | judged_valid | self.results.valid)

    def take(self, m: Module, requested, requested_rows, requested_tag, requested_valid) -> None:
        """Take the next lookup, with its row in each way."""
        with m.If(self.lookups.ready):
            m.d.sync += [
                requested.eq(self.lookups.payload),
                *(row.eq(of) for row, of in zip(requested_rows, self.rows(m), strict=True)),
                requested_tag.eq(self.tag),
                requested_valid.eq(self.lookups.valid),
            ]

    def expect_quiet(self, m: Module, inside: Value) -> None:
        """State the inputs that are allowed only while no lookup is ``inside``."""
        expect(
            m,
            self,
            clear_in_quiet=lambda: ~self.clear | ~(inside | self.lookups.valid),
            coalesce_changes_in_quiet=lambda: self.changes_in_quiet(m, inside | ~self.empty),
        )

    def changes_in_quiet(self, m: Module, busy: Value) -> Value:
        """Return whether ``coalesce`` is stable while there are entries or lookups."""
        before = Signal()
        begun = Signal()
        m.d.sync += [before.eq(self.coalesce), begun.eq(1)]
        return ~begun | (self.coalesce == before) | ~busy

    def rows(self, m: Module) -> list[Value]:
        """Return the lookup's row in each way, hashed from its number without ``coalesce``."""
        number = Signal(2 * DIGIT)
        with m.If(self.lookups.valid & self.lookups.ready):
            m.d.sync += number.eq(number + 1)
        digits = Mux(self.coalesce, hash_of(self.lookups.payload), number)
        return rows_of(digits, self.params.used_ways, self.params.row_bits)

    def add_ways(
        self, m: Module, requested, requested_rows, advance, place_in, placed
    ) -> list[PendingWay]:
        """Add the ways: all compare the idx looked up, and one enters the idx placed."""
        params = self.params
        same = Signal()
        placed_row, _ = self.parts(placed.entry)
        ways = []
        m.d.comb += same.eq(requested == placed.idx)
        for number, row in enumerate(requested_rows):
            m.submodules[f"way_{number}"] = way = PendingWay(params.way)
            ways.append(way)
            m.d.comb += [
                way.requested.eq(requested),
                way.requested_row.eq(row),
                way.same.eq(same),
                way.advance.eq(advance),
                way.placed.valid.eq(place_in[number]),
                way.placed.row.eq(placed_row),
                way.placed.idx.eq(placed.idx),
                way.clear.eq(self.clear),
            ]
            for gone, port in zip(way.released, self.release, strict=True):
                row, of = self.parts(port.entry)
                m.d.comb += [gone.valid.eq(port.valid & (of == number)), gone.row.eq(row)]
        return ways

    def parts(self, entry: Value) -> tuple[Value, Value]:
        """Return the row of an ``entry``, and its way."""
        return entry[: self.params.row_bits], entry[self.params.row_bits :]

    def choose(self, ways: list[PendingWay]) -> tuple[Value, Value, Value]:
        """Return the entry that was found, whether a way has room, and the lowest such entry."""
        bits = self.params.row_bits
        row = [Cat(way.result & way.row[bit] for way in ways).any() for bit in range(bits)]
        result = Cat(*row, index_of(Cat(way.result for way in ways)))
        choices = [
            (way.open, Cat(way.row[:bits], Const(number, len(result) - bits)))
            for number, way in enumerate(ways)
        ]
        while len(choices) > 1:
            pairs = zip(choices[::2], choices[1::2], strict=False)
            odd = choices[len(choices) // 2 * 2 :]
            choices = [(a | b, Mux(a, of_a, of_b)) for (a, of_a), (b, of_b) in pairs] + odd
        ((room, free),) = choices
        return result, room, free

    def show(self, m: Module, ways: list[PendingWay], place, placed) -> None:
        """Add the read port of entries, and the count of valid ones."""
        params = self.params
        m.submodules.contents = contents = memory.Memory(
            shape=params.idx_bits,
            depth=params.entries,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = contents.write_port(), contents.read_port(domain="comb")
        entry_valid = Signal(params.entries)
        m.d.comb += [
            entry_valid.eq(Cat(way.valid for way in ways)),
            write.addr.eq(placed.entry),
            write.data.eq(placed.idx),
            write.en.eq(place),
            read.addr.eq(self.read_entry),
            self.read.idx.eq(read.data),
            self.read.valid.eq(Array(entry_valid)[self.read_entry]),
            self.empty.eq((self.count == 0) & ~place),
        ]
        m.d.sync += self.count.eq(self.count + place - sum(port.valid for port in self.release))
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
        first, second = self.release
        twice = first.valid & second.valid & (first.entry == second.entry)
        gone = [port.valid & ~Array(entry_valid)[port.entry] for port in self.release]
        expect(m, self, releases_what_is_valid_once=lambda: ~(twice | Cat(gone).any()))
