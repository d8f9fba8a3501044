"""The concatenator's bookkeeping, proven of its RTL at two queues and four lines."""

import sys

import pytest

from sim.formal.concatenator_proof import ConcatenatorProof
from sim.formal.expiration_proof import ExpirationProof
from sim.formal.line_pool_proof import LinePoolProof, SmallParams
from sim.formal.sby import prove
from tests.mutants import broken, chosen, is_found

# PRs of one, two or three beats and up to two lines.
SMALL = SmallParams(
    payload=True,
    nodes=1,
    mtu=400,
    most_property_bytes=128,
    most_delay=3,
    few_lines=4,
    few_packets=3,
)
INDUCTION = {LinePoolProof: 2, ExpirationProof: 2}  # cycles; they hold for all time
COVER = {LinePoolProof: 12, ExpirationProof: 12, ConcatenatorProof: 12}
BOUND = 9  # cycles of ConcatenatorProof, for which induction is out of reach

TABLE, EQ, POOL = "queue_table", "expiration_queue", "line_pool"
USED_AS = {TABLE: "QueueTable", EQ: "ExpirationQueue", POOL: "LinePool"}
# What is broken: module, text, what it is replaced by, the proof and its cycles. SAMPLES are
# tried by the suite, the others by `MUTANTS=all pytest` of this file.
MUTANTS = {
    "splits a PR": (TABLE, "self.expires & ~within)", "self.expires)", ExpirationProof, 7),
    "is late for nothing": (TABLE, "late | (self.expires & within)", "0", ExpirationProof, 9),
    "opens in vain": (TABLE, "was_open & fits & ~expires_here", "fits", ExpirationProof, 7),
    "believes it is open": (TABLE, "left &= ~(self", "left &= 1 | (self", ExpirationProof, 8),
    "overlooks a close": (EQ, " & ~gone),", "),", ExpirationProof, 8),
    "takes any entry": (EQ, "(self.entered == popped)", "1", ExpirationProof, 12),
    "keeps what closes": (EQ, "fresh.eq(0)", "fresh.eq(fresh)", ExpirationProof, 10),
    "never due": (EQ, "due.eq(~past[-1])", "due.eq(0)", ConcatenatorProof, 9),
    "lists a line twice": (POOL, "enters.eq(~self.returns &", "enters.eq(", LinePoolProof, 7),
    "leaks lines": (POOL, "counts - self.takes", "counts - 1", LinePoolProof, 4),
    "gives a line away twice": (POOL, "ready.eq(self.takes)", "ready.eq(0)", LinePoolProof, 4),
}
SAMPLES = ["overlooks a close", "gives a line away twice"]


@pytest.mark.parametrize("kind", INDUCTION, ids=lambda kind: kind.__name__)
def test_holds_for_all_time(kind):
    proof = prove(kind(SMALL), mode="prove", depth=INDUCTION[kind])
    assert proof.holds, (proof.failed, proof.log)


def test_holds_for_some_cycles():
    proof = prove(ConcatenatorProof(SMALL), mode="bmc", depth=BOUND)
    assert proof.holds, (proof.failed, proof.log)


@pytest.mark.parametrize("kind", COVER, ids=lambda kind: kind.__name__)
def test_what_is_proven_can_happen(kind):
    proof = prove(kind(SMALL), mode="cover", depth=COVER[kind])
    assert proof.holds, (proof.failed, proof.log)


@pytest.mark.parametrize("name", chosen(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    found, old, new, kind, depth = MUTANTS[name]
    mutant = broken(f"hdl.netsparse.concat.{found}", old, new)
    used = USED_AS[found]
    monkeypatch.setattr(sys.modules[kind.__module__], used, getattr(mutant, used))
    proof = prove(kind(SMALL), mode="bmc", depth=depth)
    is_found(name, proof)
