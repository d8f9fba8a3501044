"""The rule of a worker's slots, proven of its RTL at three slots; broken RTL is found."""

import pytest

from hdl.p4sgd.transport.params import TransportParams
from sim.formal.sby import prove
from sim.formal.slot_table_proof import SlotTableProof
from tests.mutants import broken, chosen, is_found

PARAMS = TransportParams(slots=3, lanes=1)
TABLE = "hdl.p4sgd.transport.slot_table"
# What is broken: text, what it is replaced by. SAMPLES are tried by the suite, the others by
# `MUTANTS=all pytest` of this file.
MUTANTS = {
    "takes a sum without a job": ("m.Elif(~self.open)", "m.Elif(0)"),
    "takes a sum of another use": ("m.Elif(arrival.use != use)", "m.Elif((arrival.use ^ use)[0])"),
    "takes pending for a sum": ("arrival.acked & (phase != Phase.FREE)", "0"),
    "pending in a free slot": ("arrival.acked & (phase != Phase.FREE)", "arrival.acked"),
    "takes a sum twice": ("arrival.is_agg & (phase == Phase.PARTIAL)", "arrival.is_agg"),
    "frees without a sum": ("~arrival.is_agg & (phase == Phase.ACK)", "~arrival.is_agg"),
    "keeps a freed slot": (
        "write.data.freed.eq(use[0] ^ arrival.is_agg)",
        "write.data.freed.eq(0)",
    ),
    "forgets the use": ("write.data.taken.eq(use[0])", "write.data.taken.eq(1)"),
    "starts before it is handed on": ("& (self.outstanding != self.slot_count)", ""),
    "starts before it is free": ("& (read(self.next_slot).freed != self.next_use[0])", ""),
    "one slot too many": ("Mux(last, 0, slot + 1)", "slot + 1"),
    "uses do not go on": (
        "self.next_use.eq(self.next_use + 1),",
        "self.next_use.eq(self.next_use),",
    ),
    "clears all but the last": (
        "cleared == self.params.slots - 1",
        "cleared == self.params.slots - 2",
    ),
    "clear leaves what waits": ("m.d.sync += [waiting.eq(0), self", "m.d.sync += [self"),
    "sums go round once": ("m.d.sync += bit.eq(~bit)", "m.d.sync += bit.eq(bit)"),
    "at rest too early": ("(waiting == 0) & (self.outstanding == 0)", "self.outstanding == 0"),
    "counts a start only": (
        "self.outstanding + self.start - self.delivered",
        "self.outstanding + self.start",
    ),
}
SAMPLES = ["takes a sum without a job", "starts before it is handed on", "sums go round once"]


def test_holds_for_all_time():
    proof = prove(SlotTableProof(PARAMS), mode="prove", depth=2)
    assert proof.holds, (proof.failed, proof.log)


def test_what_is_proven_can_happen():
    proof = prove(SlotTableProof(PARAMS), mode="cover", depth=16)
    assert proof.holds, (proof.failed, proof.log)


@pytest.mark.parametrize("name", chosen(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    mutant = broken(TABLE, *MUTANTS[name])
    monkeypatch.setattr("sim.formal.slot_table_proof.SlotTable", mutant.SlotTable)
    proof = prove(SlotTableProof(PARAMS), mode="bmc", depth=14)
    is_found(name, proof)
