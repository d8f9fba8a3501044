"""Proves the concatenator's bookkeeping from its RTL at two queues and four lines."""

from dataclasses import replace

import pytest

from tests.formal.sby import hold
from tests.hdl.netsparse.concat.concatenator_proof import ConcatenatorProof
from tests.hdl.netsparse.concat.expiration_proof import ExpirationProof
from tests.hdl.netsparse.concat.line_pool_proof import LinePoolProof, SmallParams
from tests.hdl.netsparse.concat.mark_order_proof import MarkOrderProof
from tests.mutants import mutants_are_detected, mutants_of

# PRs of one or two beats and up to two lines; two of the shorter ones fit into a packet.
SMALL = SmallParams(
    payload=True,
    nodes=1,
    mtu=240,
    most_property_bytes=128,
    most_delay=3,
    few_lines=4,
    few_packets=3,
)
# Two of the longer ones, too: a packet whose time comes between the beats of its first PR is marked
# because of that, not because it is full.
ROOMY = replace(SMALL, mtu=324, most_property_bytes=112)
INDUCTION = [LinePoolProof, MarkOrderProof, ExpirationProof]  # hold for all time
STEPS = 2  #: of induction
BOUND = 9  #: cycles of ConcatenatorProof, for which induction is out of reach
COVER = {LinePoolProof: 12, MarkOrderProof: 8, ExpirationProof: 9, ConcatenatorProof: BOUND}


MUTANTS = mutants_of(
    [LinePoolProof, MarkOrderProof, ExpirationProof, ConcatenatorProof],
    r"""
    @hdl.netsparse.concat.line_pool; LinePoolProof; LinePool
    lists a line twice; enters.eq(~self.returns & => enters.eq(; in_one_place
    tells of a line too many; Mux(count <= most, => Mux(count < most,; enough_is_reported
    leaks lines; self.takes & ~counts => ~counts; none_lost
    gives a line away twice; ready.eq(self.takes) => ready.eq(0); taken_once
    links behind another; addr.eq(self.behind) => addr.eq(self.leader); follower_as_linked
    follows without a step; en.eq(self.step) => en.eq(1); follower_stays
    @hdl.netsparse.concat.mark_order; MarkOrderProof; MarkOrder
    the later one first; m.Elif(self.expires):\n            m.d.comb =>
        m.Elif(~self.arrives):\n            m.d.comb; enters_in_its_turn
    enters late; waits | self.expires | => waits |; enters_at_once
    forgets the second; (waits & (self.expires | self.arrives)) | both => both;
        none_lost_or_invented
    @hdl.netsparse.concat.decision; ExpirationProof; hdl.netsparse.concat.queue_table.Decision
    splits a PR; self.expires & ~(self.inside & self.present) => self.expires; not_split
    is late a cycle later; self.closes_joined | (self.late_now & self.last) => self.closes_joined;
        open_has_an_entry
    marks a second one; full.eq(self.waits & self.expires) => full.eq(0); one_mark_while_one_waits
    @hdl.netsparse.concat.queue_table; ExpirationProof; QueueTable
    is late for nothing; rule.late.eq(late) => rule.late.eq(0); open_has_an_entry
    opens in vain; ~(was_open & fits) => ~fits; open_has_an_entry
    waits within a PR; ~(beat.first & lacks) => ~lacks; only_a_first_beat_waits
    a full list of lines looks empty; self.covers(self.free, demand.lines) =>
        self.covers(self.free[:-1], demand.lines); waits_for_a_reason
    wants a line more; self.covers(self.free, demand.lines) =>
        ~self.covers(demand.lines, self.free); waits_for_a_reason
    @hdl.netsparse.concat.queue_table; ConcatenatorProof; QueueTable
    takes without a line; self.covers(self.free, demand.lines) => 1; there_is_a_line
    takes a line while it waits; takes.eq(self.moves & => takes.eq(beat_valid &; lines_return
    @hdl.netsparse.concat.decision; ConcatenatorProof; hdl.netsparse.concat.queue_table.Decision
    splits a PR that is late; self.expires & ~(self.inside & self.present) => self.expires;
        not_split_by_time
    @hdl.netsparse.concat.expiration_queue; ExpirationProof; ExpirationQueue
    overlooks a close; & ~gone), => ),; fresh_is_open
    takes any entry; (self.entered == popped) => 1; fresh_is_remembered
    keeps what closes; fresh.eq(0) => fresh.eq(fresh); fresh_is_open
    @hdl.netsparse.concat.expiration_queue; ConcatenatorProof; ExpirationQueue
    never due; due.eq(~past[-1]) => due.eq(0); marked_in_time
    a cycle late; due.eq(~past[-1]) => due.eq(~past[-1] & past.any()); marked_in_time
    early; due.eq(~past[-1]) => due.eq(1); not_marked_early
    a cycle early; past.eq(now - => past.eq((now + 1)[: len(now)] -; not_marked_early
    @hdl.netsparse.concat.line_pool; ConcatenatorProof; LinePool
    the same line again; ready.eq(self.takes) => ready.eq(0); line_in_no_packet
    @hdl.netsparse.concat.concatenation; ConcatenatorProof;
        hdl.netsparse.concat.queue_table.Concatenation
    forgets its first line; Mux(self.opens, self.free, before.mark.first) => before.mark.first;
        line_of_a_packet
    counts no PR; Mux(self.opens, 1, => Mux(self.opens, 0,; not_empty
    closes within a PR; arrival.last & (ends | (self.demand => (ends | (self.demand; not_split
    takes all that comes; before.mark.used > self.demand.most => 0; within_the_mtu
    """,
)
SAMPLES = ["a full list of lines looks empty", "the later one first"]


def built(kind):
    """Return a proof at its size."""
    return kind(ROOMY if kind is ExpirationProof else SMALL)


@pytest.mark.parametrize("kind", INDUCTION, ids=lambda kind: kind.__name__)
def test_holds_for_all_time(kind):
    hold(built(kind), mode="prove", depth=STEPS)


@pytest.mark.parametrize("depth", [BOUND, pytest.param(BOUND + 3, marks=pytest.mark.long)])
def test_holds_for_some_cycles(depth):
    hold(ConcatenatorProof(SMALL), mode="bmc", depth=depth)


@pytest.mark.parametrize("kind", COVER, ids=lambda kind: kind.__name__)
def test_what_is_proven_can_happen(kind):
    hold(built(kind), mode="cover", depth=COVER[kind])


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [built(kind) for kind in COVER], SAMPLES
)
