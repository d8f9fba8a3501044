"""Proves the Pending PR Table at four entries for all time; broken RTL is found."""

from hdl.netsparse.rig.pending_table import PendingTableParams
from tests.formal.sby import hold
from tests.hdl.netsparse.rig.pending_table_proof import PendingTableProof
from tests.mutants import mutants_are_detected, mutants_of

MUTANTS = mutants_of(
    [PendingTableProof],
    r"""
    @hdl.netsparse.rig.pending_table; PendingTableProof; PendingTable
    blind to the one before; any() | again => any(); a_miss_is_none_nearby
    two of one idx; any() | again => any(); idxs_apart
    follows one that was found; again.eq(near & missed) => again.eq(near); a_hit_knows_where
    the entry before; Mux(again, placed.entry, 0) => Mux(near, placed.entry, 0); a_hit_knows_where
    finds while it does not ask; near.eq(judged_valid & => near.eq(1 &; a_hit_was_there
    enters it again; place.eq(0), place_in.eq(0)] =>
        place.eq(place & ~advance), place_in.eq(place_in & (~advance).replicate(len(place_in)))];
        used_when_a_result_says_so
    enters without an entry; place.eq(judged_valid & ~hit) => place.eq(judged_valid);
        used_when_a_result_says_so
    enters another idx; placed.idx.eq(judged) => placed.idx.eq(requested);
        entered_as_the_result_says
    counts results; self.count + place => self.count + place * 2; count_of_the_valid
    empty too early; (self.count == 0) & ~place => (self.count == 0); empty_as_said
    full when it is not; full.eq(judged_valid & ~room & ~hit) => full.eq(0); waits_for_a_reason
    a hit waits for an entry; known.eq(judged_valid & hit & ~advance) => known.eq(0);
        waits_for_a_reason
    all entries are valid; Array(entry_valid)[self.read_entry] => 1; read_valid
    reads another entry; read.addr.eq(self.read_entry) => read.addr.eq(placed.entry); read_idx
    loses a lookup; lookups.ready.eq(~requested_valid | advance) => lookups.ready.eq(1);
        none_lost_or_invented
    makes a lookup; judged_valid.eq(requested_valid) => judged_valid.eq(1); none_leaves_from_nothing
    the idx behind it; result.idx.eq(judged) => result.idx.eq(requested);
        leaves_unchanged_in_its_turn
    @hdl.netsparse.rig.pending_way; PendingTableProof; hdl.netsparse.rig.pending_table.PendingWay
    blind to what is entered; | (placed.valid & self.same) => ; a_miss_is_none
    finds what is gone; (used & (stored => ((stored; a_hit_was_there
    never leaves; & ~leave & ~self.clear => & ~self.clear; used_when_a_result_says_so
    takes what the one before it took; free & ~(placed.valid & clash) => free; open_means_free
    takes what is being entered;
        ~used & ~(placed.valid & (placed.row == self.requested_row)) => ~used; open_means_free
    an entry in two places; free.eq(~used & => free.eq(1 &; placed_where_none_is
    a free row is not seen; self.open | own.any() => self.open; free_rows_are_open
    another row is free; gone.valid & (gone.row == self.row) => gone.valid; open_means_free
    clear keeps what is there; & ~leave & ~self.clear => & ~leave; used_when_a_result_says_so
    @hdl.common.streams; PendingTableProof; hdl.netsparse.rig.pending_table.StreamRegister
    a result changes; ready = Signal(init=1, attrs=self.control) =>
        ready = Signal(init=1)\n        m.d.sync += front.eq(self.i.payload); waits_unchanged
    """,
)
SAMPLES = ["blind to what is entered", "a hit waits for an entry"]

PARAMS = PendingTableParams(entries=4, ways=2, idx_bits=8)


def test_holds_for_all_time():
    hold(PendingTableProof(PARAMS), mode="prove", depth=3)


def test_what_is_proven_can_happen():
    hold(PendingTableProof(PARAMS), mode="cover", depth=16)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [PendingTableProof(PARAMS)], SAMPLES
)
