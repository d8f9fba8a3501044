"""What is proven of the Pending PR Table: no entry lost, no idx twice, results that are true."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.netsparse.rig.pending_table import RELEASES, PendingTable, PendingTableParams
from tests.formal.claims import check, claim, granted, reach
from tests.hdl.common.fifo_proof import follow_beats, keeps_waiting


class PendingTableProof(Component):
    """A :class:`PendingTable` with free lookups and releases.

    Every entry is at any time in exactly one place: valid, on its way to be, or free. With
    ``coalesce`` no two have one idx, and every lookup is coalesced if and only if its idx was
    there. Results come in order, none is lost. Of the valid entries exactly those are not yet
    known outside whose result is still inside: that alone is said only until an entry is
    released before its result has moved, and again from the next ``clear`` on. Assumed is what
    the table asks for: only valid entries are released, each once; ``coalesce`` and ``clear``
    change and come only in quiet.
    """

    def __init__(self, params: PendingTableParams) -> None:
        bits, entries = params.entry_bits, params.entries
        words = data.ArrayLayout(bits, 1 << bits)
        hidden = {  # inputs that are wired to what is inside instead
            "valid": (entries, "dut.valid"),
            "asked": (params.idx_bits, "dut.asked"),
            "asked_valid": (1, "dut.asked_valid"),
            "judged": (params.idx_bits, "dut.judged"),
            "judged_valid": (1, "dut.judged_valid"),
            "near": (1, "dut.near"),
            "missed": (1, "dut.missed"),
            "judges": (1, "dut.advance"),
            "known": (1, "dut.known"),
            "hit": (1, "dut.hit"),
            "result": (params.result, "dut.result"),
            "found": (entries, "dut.found"),
            "groups": (1, "dut.groups"),
            "placed": (params.placed, "dut.placed"),
            "place": (1, "dut.place"),
            "contents": (data.ArrayLayout(params.idx_bits, entries), "dut.contents[*]"),
            "front": (params.result, "dut.out.front"),
            "spare": (params.result, "dut.out.spare"),
            "spare_valid": (1, "dut.out.waiting"),
            "unused": (range(entries + 1), "dut.free.unused"),
            "free_front": (bits, "dut.free.front"),
            "free_valid": (1, "dut.free.valid"),
            "free_spare": (bits, "dut.free.spare"),
            "free_waiting": (1, "dut.free.waiting"),
        }
        for k in range(RELEASES):
            hidden |= {
                f"list_{k}": (words, f"dut.free.list_{k}[*]"),
                f"pushed_{k}": (bits + 1, f"dut.free.pushed_{k}"),
                f"popped_{k}": (bits + 1, f"dut.free.popped_{k}"),
            }
        for k in range(entries):
            hidden[f"idx_{k}"] = params.idx_bits, f"dut.idx_{k}"
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            {
                "mark": In(1),
                "idx": In(params.idx_bits),
                "idx_valid": In(1),
                "ready": In(1),
                "coalesce": In(1),
                "clear": In(1),
                "release": In(params.release).array(RELEASES),
                "read_entry": In(bits),
                **{name: In(shape) for name, (shape, _) in hidden.items()},
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
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
        self.idxs = [getattr(self, f"idx_{k}") for k in range(self.params.entries)]
        moves = Signal()
        owned = Signal(self.params.entries)  # results of these have come
        early = Signal()  # an entry has been released whose result had not
        m.d.comb += moves.eq(dut.results.valid & dut.results.ready)
        self.surroundings(m, dut, moves, owned, early)
        self.places(m, dut, owned, early)
        self.idxs_apart(m)
        self.results(m, dut, moves)
        self.examples(m, dut, moves)
        return m

    def surroundings(self, m: Module, dut: PendingTable, moves, owned, early) -> None:
        """What the table asks for."""
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
        """Where an entry is: everywhere once, and nowhere else."""
        params = self.params
        depth = 1 << params.entry_bits
        levels = []
        for k in range(RELEASES):
            level = Signal(params.entry_bits + 1, name=f"level_{k}")
            m.d.comb += level.eq(getattr(self, f"pushed_{k}") - getattr(self, f"popped_{k}"))
            check(m, "list_holds_all", level <= params.entries)
            levels.append(level)
        check(m, "unused_fits", self.unused <= params.entries)
        check(m, "spare_behind_front", ~self.free_waiting | self.free_valid)
        check(m, "spare_result_behind_front", ~self.spare_valid | dut.results.valid)
        check(m, "placed_for_a_miss", ~self.place | self.missed)
        for entry in range(params.entries):
            free = [
                self.unused <= entry,
                self.free_valid & (self.free_front == entry),
                self.free_waiting & (self.free_spare == entry),
            ]
            for k, level in enumerate(levels):
                words, popped = getattr(self, f"list_{k}"), getattr(self, f"popped_{k}")
                for slot in range(depth):
                    offset = (slot - popped)[: params.entry_bits]
                    free.append((offset < level) & (words[slot] == entry))
            placing = self.place & (self.placed.entry == entry)
            used = self.valid[entry] + placing
            claim(m, "every_entry_in_one_place", used + count_ones(free) == 1)
            inside = [
                (dut.results.valid, self.front),
                (self.spare_valid, self.spare),
            ]
            unseen = [
                there & ~result.coalesced & (result.entry == entry) for there, result in inside
            ]
            with m.If(~early):
                claim(m, "used_when_a_result_says_so", used == owned[entry] + count_ones(unseen))
                for seen, (_, result) in zip(unseen, inside, strict=True):
                    idx = Mux(placing, self.placed.idx, self.idxs[entry])
                    claim(m, "entered_as_the_result_says", ~seen | (result.idx == idx))
            with m.If(self.valid[entry]):
                check(m, "memory_is_the_same", self.contents[entry] == self.idxs[entry])
        valid = count_ones(list(self.valid))
        dry = Signal(2)  # an entry is free, but none is offered
        m.d.sync += dry.eq(Cat(~self.free_valid & (valid + self.place != params.entries), dry[0]))
        with m.If(self.clear):
            m.d.sync += dry.eq(0)
        claim(m, "free_ones_are_offered", ~dry.all())
        claim(m, "count_of_the_valid", dut.count == valid)
        claim(m, "full_means_none_is_offered", ~dut.full | ~self.free_valid)
        claim(m, "empty_as_said", dut.empty == ~(self.valid.any() | self.place))
        read = dut.read
        with m.If(self.read_entry < params.entries):
            claim(m, "read_valid", read.valid == Array(self.valid)[self.read_entry])
            claim(m, "read_idx", ~read.valid | (read.idx == Array(self.idxs)[self.read_entry]))

    def idxs_apart(self, m: Module) -> None:
        """No two valid entries have one idx; what is being looked up knows where its idx is."""
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
                    check(m, "found", self.found[k] | (again & (self.placed.entry == k)))
            with m.If(self.judged_valid & self.found[k]):
                check(m, "found_is_equal", idx == self.judged)
                check(m, "found_stays", ~self.place | (self.placed.entry != k))
        check(m, "found_in_its_group", ~self.judged_valid | (self.groups == self.found.any()))
        with m.If(self.coalesce & self.judged_valid):
            with m.If(self.place & (self.placed.idx == self.judged)):
                check(m, "found_nearby", again)
            check(m, "found_once", count_ones(list(self.found)) + again <= 1)

    def results(self, m: Module, dut: PendingTable, moves) -> None:
        """Results are in order, of their idxs, and true when they are given."""
        inside = [
            (dut.results.valid, self.front.idx),
            (self.spare_valid, self.spare.idx),
            (self.judged_valid, self.judged),
            (self.asked_valid, self.asked),
        ]
        comes = dut.lookups.valid & dut.lookups.ready, dut.lookups.payload
        follow_beats(m, self.mark, comes, (moves, dut.results.payload.idx), inside)
        keeps_waiting(m, dut.results)
        self.hits(m, dut)
        # A hit that finds the table full looks twice.
        looked = Signal()
        m.d.sync += looked.eq(self.judged_valid & self.hit & ~self.judges & ~self.spare_valid)
        check(m, "looked_and_known", ~looked | self.known)
        reason = self.spare_valid | dut.full | (self.hit & ~looked)
        claim(m, "waits_for_a_reason", ~self.judged_valid | self.judges | reason)
        # A lookup that is judged a miss in this cycle has no valid entry, and none on its way.
        with m.If(self.coalesce & self.judged_valid & ~self.hit):
            for k, idx in enumerate(self.idxs):
                claim(m, "a_miss_is_none", ~self.valid[k] | (idx != self.judged))
            claim(m, "a_miss_is_none_nearby", ~self.place | (self.placed.idx != self.judged))

    def hits(self, m: Module, dut: PendingTable) -> None:
        """What is found is there, or was released behind the cycle in which the lookup came."""
        released = Signal(self.params.entries)
        since_asked = Signal(self.params.entries)
        since_judged = Signal(self.params.entries)
        m.d.comb += released.eq(
            Cat(
                Cat(port.valid & (port.entry == k) for port in self.release).any()
                for k in range(self.params.entries)
            )
        )
        m.d.sync += since_asked.eq(Mux(dut.lookups.ready, 0, since_asked | released))
        m.d.sync += since_judged.eq(Mux(self.judges, since_asked, since_judged) | released)
        entry = self.result.entry
        with m.If(self.coalesce & self.judged_valid & self.hit):
            nearby = self.near & self.missed & (self.placed.entry == entry)
            claim(m, "a_hit_knows_where", nearby | (Array(self.idxs)[entry] == self.judged))
        for k in range(self.params.entries):
            there = self.valid[k] | (self.place & (self.placed.entry == k)) | since_judged[k]
            again = self.near & self.missed & (self.placed.entry == k)
            with m.If(self.judged_valid & (self.found[k] | again)):
                claim(m, "a_hit_was_there", there)

    def examples(self, m: Module, dut: PendingTable, moves) -> None:
        """What is proven can happen."""
        result = dut.results.payload
        both = Value.cast(self.release[0].valid & self.release[1].valid)
        was_full = Signal()
        with m.If(self.valid.all()):
            m.d.sync += was_full.eq(1)
        reach(m, "coalesced", moves & result.coalesced)
        reach(m, "full", dut.full & self.valid.all())
        reach(m, "hit_while_full", self.known)
        reach(m, "two_released_beside_a_result", both & moves)
        reach(m, "used_again", moves & ~result.coalesced & (self.popped_0 == 2))
        reach(m, "used_again_by_the_other", moves & ~result.coalesced & (self.popped_1 == 2))
        level = [
            (getattr(self, f"pushed_{k}") != getattr(self, f"popped_{k}")) for k in range(RELEASES)
        ]
        reach(m, "both_lists_filled", level[0] & level[1])
        reach(m, "list_wrapped", (self.popped_0 == self.params.entries) & self.free_valid)
        reach(m, "empty_behind_full", was_full & dut.empty)
        both_new = ~self.spare.coalesced & ~self.front.coalesced
        twice = self.spare_valid & both_new & (self.spare.entry == self.front.entry)
        reach(m, "one_entry_in_two_results", twice)
        reach(m, "cleared_when_used", self.clear & (self.valid != 0))
        reach(m, "found_just_after", moves & self.judged_valid & self.near & self.missed)
