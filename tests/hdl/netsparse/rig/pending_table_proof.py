"""States what is proven of the Pending PR Table: no entry lost, no idx twice, true results."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.netsparse.rig.entry_rows import hash_of, rows_of
from hdl.netsparse.rig.pending_table import PendingTable, PendingTableParams
from hdl.netsparse.rig.pending_way import RELEASES
from tests.formal.claims import check, claim, granted, reach
from tests.hdl.common.fifo_proof import follow_beats, keeps_waiting


class PendingTableProof(Component):
    """Has a :class:`PendingTable` with free lookups and releases.

    With ``coalesce`` no two valid entries have one idx, and every lookup is coalesced if and only
    if its idx was there. No entry is given twice, and one is given as soon as a row of the idx is
    free. Results come in order, none is lost. Of the valid entries exactly those are not yet
    known outside whose result is still inside: that alone is said only until an entry is
    released before its result has moved, and again from the next ``clear`` on. Assumed is what
    the table asks for: only valid entries are released, each once; ``coalesce`` and ``clear``
    change and come only in quiet.
    """

    def __init__(self, params: PendingTableParams) -> None:
        bits, entries = params.entry_bits, params.entries
        hidden = {  # inputs that are wired to what is inside instead
            "valid": (entries, "dut.entry_valid"),
            "requested": (params.idx_bits, "dut.requested"),
            "requested_valid": (1, "dut.requested_valid"),
            "judged": (params.idx_bits, "dut.judged"),
            "judged_valid": (1, "dut.judged_valid"),
            "near": (1, "dut.near"),
            "missed": (1, "dut.missed"),
            "judges": (1, "dut.advance"),
            "known": (1, "dut.known"),
            "hit": (1, "dut.hit"),
            "outcome": (params.result, "dut.result"),
            "placed": (params.placed, "dut.placed"),
            "place": (1, "dut.place"),
            "place_in": (params.used_ways, "dut.place_in"),
            "contents": (data.ArrayLayout(params.idx_bits, entries), "dut.contents[*]"),
            "front": (params.result, "dut.out.front"),
            "spare": (params.result, "dut.out.spare"),
            "spare_free": (1, "dut.out.ready"),
        }
        for way in range(params.used_ways):
            idxs = data.ArrayLayout(params.idx_bits, params.rows)
            hidden |= {
                f"idxs_{way}": (idxs, f"dut.way_{way}.idxs[*]"),
                f"result_{way}": (1, f"dut.way_{way}.result"),
                f"open_{way}": (1, f"dut.way_{way}.open"),
                f"clash_{way}": (1, f"dut.way_{way}.clash"),
                f"requested_row_{way}": (params.way.row_bits, f"dut.requested_row_{way}"),
                f"row_{way}": (params.way.row_bits, f"dut.way_{way}.row"),
            }
            hidden |= {
                f"returned_{way}_{k}": (params.way.release, f"dut.way_{way}.returned_{k}_1")
                for k in range(RELEASES)
            }
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            mark=In(1),
            idx=In(params.idx_bits),
            idx_valid=In(1),
            ready=In(1),
            coalesce=In(1),
            clear=In(1),
            release=In(params.release).array(RELEASES),
            read_entry=In(bits),
            **{name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def build(self, m: Module) -> None:
        m.submodules.dut = dut = granted(PendingTable(self.params))
        m.d.comb += [
            dut.lookups.payload.eq(self.idx),
            dut.lookups.valid.eq(self.idx_valid),
            dut.results.ready.eq(self.ready),
            dut.coalesce.eq(self.coalesce),
            dut.clear.eq(self.clear),
            dut.read_entry.eq(self.read_entry),
            *(dut.release[k].eq(port) for k, port in enumerate(self.release)),
        ]
        ways, rows = range(self.params.used_ways), range(self.params.rows)
        self.idxs = [getattr(self, f"idxs_{way}")[row] for way in ways for row in rows]
        self.result = [
            getattr(self, f"result_{way}") & (getattr(self, f"row_{way}") == row)
            for way in ways
            for row in rows
        ]
        moves = Signal()
        owned = Signal(self.params.entries)  # results of these have come
        early = Signal()  # an entry has been released whose result had not
        m.d.comb += moves.eq(dut.results.valid & dut.results.ready)
        self.surroundings(m, dut, moves, owned, early)
        self.places(m, dut, owned, early)
        self.rows(m)
        self.idxs_apart(m)
        self.results(m, dut, moves)
        self.examples(m, dut, moves)

    def surroundings(self, m: Module, dut: PendingTable, moves, owned, early) -> None:
        """Assume what the table asks for."""
        result = dut.results.payload
        leaving = []
        for k in range(self.params.entries):
            comes = moves & ~result.coalesced & (result.entry == k)
            leaves = [port.valid & (port.entry == k) for port in self.release]
            leaving.append(Cat(leaves).any())
            m.d.sync += owned[k].eq((owned[k] | comes) & ~leaving[-1] & ~self.clear)
            with m.If(leaving[-1] & ~owned[k] & ~comes):
                m.d.sync += early.eq(1)
        with m.If(self.clear):
            m.d.sync += early.eq(0)

    def places(self, m: Module, dut: PendingTable, owned, early) -> None:
        """Claim that an entry is taken exactly while a result says so, and holds what that says."""
        params = self.params
        check(m, "spare_result_behind_front", self.spare_free | dut.results.valid)
        check(m, "placed_for_a_miss", ~self.place | self.missed)
        for entry in range(params.entries):
            placing = self.place & (self.placed.entry == entry)
            claim(m, "placed_where_none_is", ~(placing & self.valid[entry]))
            used = self.valid[entry] + placing
            inside = [(dut.results.valid, self.front), (~self.spare_free, self.spare)]
            unseen = [
                present & ~result.coalesced & (result.entry == entry) for present, result in inside
            ]
            with m.If(~early):
                claim(m, "used_when_a_result_says_so", used == owned[entry] + count_ones(unseen))
                for seen, (_, result) in zip(unseen, inside, strict=True):
                    idx = Mux(placing, self.placed.idx, self.idxs[entry])
                    claim(m, "entered_as_the_result_says", ~seen | (result.idx == idx))
            with m.If(self.valid[entry]):
                check(m, "memory_is_the_same", self.contents[entry] == self.idxs[entry])
        valid = count_ones(list(self.valid))
        claim(m, "count_of_the_valid", dut.count == valid)
        claim(m, "empty_as_said", dut.empty == ~(self.valid.any() | self.place))
        read = dut.read
        claim(m, "read_valid", read.valid == Array(self.valid)[self.read_entry])
        claim(m, "read_idx", ~read.valid | (read.idx == Array(self.idxs)[self.read_entry]))

    def rows(self, m: Module) -> None:
        """Claim that an idx is in its row of a way, and takes one as soon as it is free."""
        ways, rows = self.params.used_ways, self.params.rows
        hashes = {"requested": hash_of(self.requested), "judged": hash_of(self.judged)}
        of = {name: rows_of(value, ways, self.params.row_bits) for name, value in hashes.items()}
        for way in range(ways):
            row = getattr(self, f"row_{way}")
            requested_right = getattr(self, f"requested_row_{way}") == of["requested"][way]
            check(
                m, "requested_in_its_row", ~(self.requested_valid & self.coalesce) | requested_right
            )
            placing = self.place & (self.placed.entry[self.params.row_bits :] == way)
            check(m, "placed_in_its_path", self.place_in[way] == placing)
            entry = way * rows + row
            present = Array(self.valid)[entry]
            placing = self.place & (self.placed.entry == entry)
            own = [
                gone.valid & (gone.row == row)
                for gone in (getattr(self, f"returned_{way}_{k}") for k in range(RELEASES))
            ]
            with m.If(self.judged_valid):
                is_open = getattr(self, f"open_{way}")
                check(m, "clash_seen", ~placing | getattr(self, f"clash_{way}"))
                claim(m, "open_means_free", ~(is_open & (present | placing)))
                returned = Cat(own).any()  # a cycle ago
                claim(m, "free_rows_are_open", is_open | present | placing | returned)
                with m.If(self.coalesce):
                    check(m, "judged_in_its_row", row == of["judged"][way])
        for entry, idx in enumerate(self.idxs):
            way, row = divmod(entry, rows)
            for present, what in (
                (self.valid[entry], idx),
                (self.place & (self.placed.entry == entry), self.placed.idx),
            ):
                its = rows_of(hash_of(what), ways, self.params.row_bits)[way]
                check(m, "each_in_its_row", ~(present & self.coalesce) | (its == row))

    def idxs_apart(self, m: Module) -> None:
        """Claim that no two valid entries have one idx; a lookup knows where its idx is."""
        again = self.near & self.missed
        with m.If(self.judged_valid & self.near):
            check(m, "near_means_equal", self.judged == self.placed.idx)
        with m.If(self.known):
            check(m, "known_hit", self.judged_valid & self.hit)
        for k, idx in enumerate(self.idxs):
            with m.If(self.coalesce & self.valid[k]):
                for other in range(k):
                    claim(m, "idxs_apart", ~self.valid[other] | (idx != self.idxs[other]))
                check(m, "new_idx_is_new", ~self.place | (idx != self.placed.idx))
                with m.If(self.judged_valid & (idx == self.judged)):
                    check(m, "result", self.result[k] | (again & (self.placed.entry == k)))
            with m.If(self.coalesce & self.judged_valid & self.result[k]):
                check(m, "detected_is_equal", idx == self.judged)
                check(m, "result_stays", ~self.place | (self.placed.entry != k))
        with m.If(self.coalesce & self.judged_valid):
            with m.If(self.place & (self.placed.idx == self.judged)):
                check(m, "result_nearby", again)
            check(m, "result_once", count_ones(self.result) + again <= 1)

    def results(self, m: Module, dut: PendingTable, moves) -> None:
        """Claim that results are in order, of their idxs, and true when they are given."""
        inside = [
            (dut.results.valid, self.front.idx),
            (~self.spare_free, self.spare.idx),
            (self.judged_valid, self.judged),
            (self.requested_valid, self.requested),
        ]
        comes = dut.lookups.valid & dut.lookups.ready, dut.lookups.payload
        follow_beats(m, self.mark, comes, (moves, dut.results.payload.idx), inside)
        keeps_waiting(m, dut.results)
        self.hits(m, dut)
        # A hit that finds the table full looks twice.
        looked = Signal()
        m.d.sync += looked.eq(self.judged_valid & self.hit & ~self.judges & self.spare_free)
        check(m, "looked_and_known", ~looked | self.known)
        reason = ~self.spare_free | dut.full | (self.hit & ~looked)
        claim(m, "waits_for_a_reason", ~self.judged_valid | self.judges | reason)
        # A lookup that is judged a miss in this cycle has no valid entry, and none on its way.
        with m.If(self.coalesce & self.judged_valid & ~self.hit):
            for k, idx in enumerate(self.idxs):
                claim(m, "a_miss_is_none", ~self.valid[k] | (idx != self.judged))
            claim(m, "a_miss_is_none_nearby", ~self.place | (self.placed.idx != self.judged))

    def hits(self, m: Module, dut: PendingTable) -> None:
        """Claim that what is found is there, or was released after the cycle of the lookup."""
        released = Signal(self.params.entries)
        since_request = Signal(self.params.entries)
        since_judged = Signal(self.params.entries)
        m.d.comb += released.eq(
            Cat(
                Cat(port.valid & (port.entry == k) for port in self.release).any()
                for k in range(self.params.entries)
            )
        )
        m.d.sync += since_request.eq(Mux(dut.lookups.ready, 0, since_request | released))
        m.d.sync += since_judged.eq(Mux(self.judges, since_request, since_judged) | released)
        entry = self.outcome.entry
        with m.If(self.coalesce & self.judged_valid & self.hit):
            nearby = self.near & self.missed & (self.placed.entry == entry)
            claim(m, "a_hit_knows_where", nearby | (Array(self.idxs)[entry] == self.judged))
        for k in range(self.params.entries):
            present = self.valid[k] | (self.place & (self.placed.entry == k)) | since_judged[k]
            again = self.near & self.missed & (self.placed.entry == k)
            with m.If(self.coalesce & self.judged_valid & (self.result[k] | again)):
                claim(m, "a_hit_was_there", present)

    def examples(self, m: Module, dut: PendingTable, moves) -> None:
        """Show that what is proven can happen."""
        result = dut.results.payload
        both = Value.cast(self.release[0].valid & self.release[1].valid)
        was_full = Signal()
        with m.If(self.valid.all()):
            m.d.sync += was_full.eq(1)
        reach(m, "coalesced", moves & result.coalesced)
        reach(m, "full", dut.full & self.valid.all())
        reach(m, "hit_while_full", self.known)
        reach(m, "two_released_beside_a_result", both & moves)
        room = self.valid.all() | self.place | Cat(self.returned_0_0.valid, self.returned_0_1.valid)
        reach(m, "full_with_entries_free", dut.full & ~room.any() & self.coalesce)
        reach(m, "a_row_of_another_path", self.place & self.placed.entry[-1] & ~self.valid.all())
        reach(m, "empty_behind_full", was_full & dut.empty)
        both_new = ~self.spare.coalesced & ~self.front.coalesced
        twice = ~self.spare_free & both_new & (self.spare.entry == self.front.entry)
        reach(m, "one_entry_in_two_results", twice)
        reach(m, "cleared_when_used", self.clear & (self.valid != 0))
        reach(m, "result_just_after", moves & self.judged_valid & self.near & self.missed)
