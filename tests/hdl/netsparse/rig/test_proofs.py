"""The Pending PR Table, proven at four entries for all time; broken RTL is found."""

import pytest

from hdl.netsparse.rig.pending_table import PendingTableParams
from tests.formal.sby import prove
from tests.hdl.netsparse.rig.pending_table_proof import PendingTableProof
from tests.long import short_and_long
from tests.mutants import Mutant, every_claim_has_one, find

MODULE = "hdl.netsparse.rig.pending_table"


def table(old, new, claim, **options):
    """A broken PendingTable."""
    places = ("tests.hdl.netsparse.rig.pending_table_proof.PendingTable",)
    return Mutant(MODULE, old, new, places, PendingTableProof, claim, **options)


MUTANTS = {
    "blind to the one before": table(
        "groups.any() | again", "groups.any()", "a_miss_is_none_nearby"
    ),
    "two of one idx": table("groups.any() | again", "groups.any()", "idxs_apart"),
    "blind to what is entered": table(
        "Mux(enter, same, valid[k] &", "Mux(0, same, valid[k] &", "a_miss_is_none"
    ),
    "follows one that was found": table(
        "again.eq(near & missed)", "again.eq(near)", "a_hit_knows_where"
    ),
    "the entry before": table(
        "Mux(again, placed.entry, 0)", "Mux(near, placed.entry, 0)", "a_hit_knows_where"
    ),
    "finds what is gone": table("valid[k] & (asked == idx)", "asked == idx", "a_hit_was_there"),
    "finds while it does not ask": table(
        "near.eq(judged_valid &", "near.eq(1 &", "a_hit_was_there"
    ),
    "never leaves": table(
        "(valid[k] | enter) & ~leave", "(valid[k] | enter)", "every_entry_in_one_place"
    ),
    "an entry for a hit": table("out.i.ready & ~hit)", "out.i.ready)", "every_entry_in_one_place"),
    "enters it again": table(
        "place.eq(0)]", "place.eq(place & ~advance)]", "used_when_a_result_says_so"
    ),
    "enters without an entry": table(
        "place.eq(judged_valid & ~hit)", "place.eq(judged_valid)", "used_when_a_result_says_so"
    ),
    "one free entry is lost": table("~waiting & ~found)", "~found)", "every_entry_in_one_place"),
    "two lists at once": table(
        "~waiting & ~found)", "~waiting & ~fresh)", "every_entry_in_one_place"
    ),
    "the spare one is lost": table(
        "valid.eq(waiting | found)", "valid.eq(found)", "every_entry_in_one_place"
    ),
    "one entry too few": table(
        "unused != entries", "unused + 1 < entries", "free_ones_are_offered"
    ),
    "one entry too many": table(
        "unused != entries", "unused <= entries", "every_entry_in_one_place"
    ),
    "clear keeps what is released": table(
        "pushed.eq(0), popped.eq(0)", "pushed.eq(0)", "every_entry_in_one_place", depth=14
    ),
    "clear keeps what is free": table(
        "unused.eq(0), valid.eq(0)", "valid.eq(0)", "every_entry_in_one_place"
    ),
    "enters another idx": table(
        "placed.idx.eq(judged)", "placed.idx.eq(asked)", "entered_as_the_result_says"
    ),
    "counts results": table("self.count + place", "self.count + place * 2", "count_of_the_valid"),
    "empty too early": table("(self.count == 0) & ~place", "(self.count == 0)", "empty_as_said"),
    "full when it is not": table(
        "full.eq(judged_valid & ~free.o.valid & ~hit)",
        "full.eq(judged_valid & ~hit)",
        "full_means_none_is_offered",
    ),
    "a hit waits for an entry": table(
        "known.eq(judged_valid & hit & ~advance)", "known.eq(0)", "waits_for_a_reason"
    ),
    "all entries are valid": table("Array(valid)[self.read_entry]", "1", "read_valid"),
    "reads another entry": table(
        "read.addr.eq(self.read_entry)", "read.addr.eq(placed.entry)", "read_idx"
    ),
    "loses a lookup": table(
        "lookups.ready.eq(~asked_valid | advance)", "lookups.ready.eq(1)", "none_lost_or_made"
    ),
    "makes a lookup": table(
        "judged_valid.eq(asked_valid)", "judged_valid.eq(1)", "none_leaves_from_nothing"
    ),
    "the idx behind it": table(
        "result.idx.eq(judged)", "result.idx.eq(asked)", "leaves_unchanged_in_its_turn"
    ),
    "a result changes": Mutant(
        "hdl.common.streams",
        "waiting = Signal()  # of spare\n",
        "waiting = Signal()\n        m.d.sync += front.eq(self.i.payload)\n",
        (f"{MODULE}.StreamRegister",),
        PendingTableProof,
        "waits_unchanged",
    ),
}
SAMPLES = ["blind to what is entered", "a hit waits for an entry"]

PARAMS = PendingTableParams(entries=4, idx_bits=8)


def test_holds_for_all_time():
    proof = prove(PendingTableProof(PARAMS), mode="prove", depth=3)
    assert proof.holds, (proof.failed, proof.log)


def test_what_is_proven_can_happen():
    proof = prove(PendingTableProof(PARAMS), mode="cover", depth=16)
    assert proof.holds, (proof.failed, proof.log)


def test_every_claim_finds_broken_rtl():
    every_claim_has_one(MUTANTS, [PendingTableProof(PARAMS)])


@pytest.mark.parametrize("name", short_and_long(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    find(MUTANTS[name], PARAMS, monkeypatch)
