"""The Pending PR Table, proven at four entries for all time; broken RTL is found."""

import pytest

from hdl.netsparse.rig.pending_table import PendingTableParams
from sim.formal.pending_table_proof import PendingTableProof
from sim.formal.sby import prove
from tests.mutants import broken, chosen, is_found

MODULE = "hdl.netsparse.rig.pending_table"
# What is broken: text, what it is replaced by. SAMPLES are tried by the suite, the others by
# `MUTANTS=all pytest` of this file.
MUTANTS = {
    "blind to the one before": ("groups.any() | again", "groups.any()"),
    "blind to what is entered": ("Mux(enter, same, valid[k] &", "Mux(0, same, valid[k] &"),
    "follows one that was found": ("again.eq(near & missed)", "again.eq(near)"),
    "finds what is gone": ("valid[k] & (asked == idx)", "asked == idx"),
    "finds while it does not ask": ("near.eq(judged_valid &", "near.eq(1 &"),
    "never leaves": ("(valid[k] | enter) & ~leave", "(valid[k] | enter)"),
    "an entry for a hit": ("out.i.ready & ~hit)", "out.i.ready)"),
    "goes on without an entry": ("judged_valid & hit & ~advance", "judged_valid & ~advance"),
    "enters it again": ("place.eq(0)]", "place.eq(place & ~advance)]"),
    "enters without an entry": ("place.eq(judged_valid & ~hit)", "place.eq(judged_valid)"),
    "one free entry is lost": ("~waiting & ~found)", "~found)"),
    "two lists at once": ("~waiting & ~found)", "~waiting & ~fresh)"),
    "the spare one is lost": ("valid.eq(waiting | found)", "valid.eq(found)"),
    "one entry too few": ("unused != entries", "unused + 1 < entries"),
    "one entry too many": ("unused != entries", "unused <= entries"),
    "clear keeps what is released": ("pushed.eq(0), popped.eq(0)", "pushed.eq(0)"),
    "clear keeps what is free": ("unused.eq(0), valid.eq(0)", "valid.eq(0)"),
    "counts results": ("self.count + place", "self.count + place * 2"),
    "the entry before": ("Mux(again, placed.entry, 0)", "Mux(near, placed.entry, 0)"),
}
SAMPLES = ["blind to what is entered", "two lists at once"]

PARAMS = PendingTableParams(entries=4, idx_bits=8)


def test_holds_for_all_time():
    proof = prove(PendingTableProof(PARAMS), mode="prove", depth=3)
    assert proof.holds, (proof.failed, proof.log)


def test_what_is_proven_can_happen():
    proof = prove(PendingTableProof(PARAMS), mode="cover", depth=14)
    assert proof.holds, (proof.failed, proof.log)


@pytest.mark.parametrize("name", chosen(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    old, new = MUTANTS[name]
    mutant = broken(MODULE, old, new)
    monkeypatch.setattr("sim.formal.pending_table_proof.PendingTable", mutant.PendingTable)
    proof = prove(PendingTableProof(PARAMS), mode="bmc", depth=12)
    is_found(name, proof)
