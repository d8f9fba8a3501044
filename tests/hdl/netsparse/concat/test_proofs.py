"""Proves the concatenator's bookkeeping from its RTL at two queues and four lines."""

from dataclasses import replace

import pytest

from tests.formal.sby import hold
from tests.hdl.netsparse.concat.concatenator_proof import ConcatenatorProof
from tests.hdl.netsparse.concat.expiration_proof import ExpirationProof
from tests.hdl.netsparse.concat.line_pool_proof import LinePoolProof, SmallParams
from tests.hdl.netsparse.concat.mark_order_proof import MarkOrderProof
from tests.mutants import Mutant, mutants_are_detected, mutants_of

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

FOLDER = "hdl.netsparse.concat"
EXPIRATION, CONCATENATOR = (
    "tests.hdl.netsparse.concat.expiration_proof",
    "tests.hdl.netsparse.concat.concatenator_proof",
)


def pool(old, new, kind, claim, **options):
    """Return a broken LinePool."""
    places = ("tests.hdl.netsparse.concat.line_pool_proof.LinePool", f"{CONCATENATOR}.LinePool")
    return Mutant(f"{FOLDER}.line_pool", old, new, places, kind, claim, **options)


order = mutants_of(
    f"{FOLDER}.mark_order", MarkOrderProof, "tests.hdl.netsparse.concat.mark_order_proof.MarkOrder"
)


def table(old, new, kind, claim, **options):
    """Return a broken QueueTable."""
    places = (f"{EXPIRATION}.QueueTable", f"{CONCATENATOR}.QueueTable")
    return Mutant(f"{FOLDER}.queue_table", old, new, places, kind, claim, **options)


def decision(old, new, kind, claim, **options):
    """Return a broken Decision."""
    places = (f"{FOLDER}.queue_table.Decision",)
    return Mutant(f"{FOLDER}.decision", old, new, places, kind, claim, **options)


def queue(old, new, kind, claim, **options):
    """Return a broken ExpirationQueue."""
    places = (f"{EXPIRATION}.ExpirationQueue", f"{CONCATENATOR}.ExpirationQueue")
    return Mutant(f"{FOLDER}.expiration_queue", old, new, places, kind, claim, **options)


concatenation = mutants_of(
    f"{FOLDER}.concatenation", ConcatenatorProof, f"{FOLDER}.queue_table.Concatenation"
)


MUTANTS = {
    # lines
    "lists a line twice": pool(
        "enters.eq(~self.returns &", "enters.eq(", LinePoolProof, "in_one_place"
    ),
    "tells of a line too many": pool(
        "Mux(count <= most,", "Mux(count < most,", LinePoolProof, "enough_is_reported"
    ),
    "leaks lines": pool("self.takes & ~counts", "~counts", LinePoolProof, "none_lost"),
    "gives a line away twice": pool(
        "ready.eq(self.takes)", "ready.eq(0)", LinePoolProof, "taken_once"
    ),
    "links behind another": pool(
        "addr.eq(self.behind)", "addr.eq(self.leader)", LinePoolProof, "follower_as_linked"
    ),
    "follows without a step": pool("en.eq(self.step)", "en.eq(1)", LinePoolProof, "follower_stays"),
    # order of marks
    "the later one first": order(
        "m.Elif(self.expires):\n            m.d.comb",
        "m.Elif(~self.arrives):\n            m.d.comb",
        "enters_in_its_turn",
    ),
    "enters late": order("waits | self.expires |", "waits |", "enters_at_once"),
    "forgets the second": order(
        "(waits & (self.expires | self.arrives)) | both", "both", "none_lost_or_invented"
    ),
    # queues
    "splits a PR": decision(
        "self.expires & ~(self.inside & self.present)", "self.expires", ExpirationProof, "not_split"
    ),
    "is late for nothing": table(
        "rule.late.eq(late)", "rule.late.eq(0)", ExpirationProof, "open_has_an_entry"
    ),
    "is late a cycle later": decision(
        "self.closes_joined | (self.late_now & self.last)",
        "self.closes_joined",
        ExpirationProof,
        "open_has_an_entry",
    ),
    "opens in vain": table("~(was_open & fits)", "~fits", ExpirationProof, "open_has_an_entry"),
    "marks a second one": decision(
        "full.eq(self.waits & self.expires)",
        "full.eq(0)",
        ExpirationProof,
        "one_mark_while_one_waits",
    ),
    "waits within a PR": table(
        "~(beat.first & lacks)",
        "~lacks",
        ExpirationProof,
        "only_a_first_beat_waits",
    ),
    "a full list of lines looks empty": table(
        "self.covers(self.free, demand.lines)",
        "self.covers(self.free[:-1], demand.lines)",
        ExpirationProof,
        "waits_for_a_reason",
    ),
    "wants a line more": table(
        "self.covers(self.free, demand.lines)",
        "~self.covers(demand.lines, self.free)",
        ExpirationProof,
        "waits_for_a_reason",
    ),
    "takes without a line": table(
        "self.covers(self.free, demand.lines)", "1", ConcatenatorProof, "there_is_a_line"
    ),
    "splits a PR that is late": decision(
        "self.expires & ~(self.inside & self.present)",
        "self.expires",
        ConcatenatorProof,
        "not_split_by_time",
    ),
    # the EQ
    "overlooks a close": queue(" & ~gone),", "),", ExpirationProof, "fresh_is_open"),
    "takes any entry": queue(
        "(self.entered == popped)", "1", ExpirationProof, "fresh_is_remembered"
    ),
    "keeps what closes": queue("fresh.eq(0)", "fresh.eq(fresh)", ExpirationProof, "fresh_is_open"),
    "never due": queue("due.eq(~past[-1])", "due.eq(0)", ConcatenatorProof, "marked_in_time"),
    "a cycle late": queue(
        "due.eq(~past[-1])", "due.eq(~past[-1] & past.any())", ConcatenatorProof, "marked_in_time"
    ),
    "early": queue("due.eq(~past[-1])", "due.eq(1)", ConcatenatorProof, "not_marked_early"),
    "a cycle early": queue(
        "past.eq(now - ",
        "past.eq((now + 1)[: len(now)] - ",
        ConcatenatorProof,
        "not_marked_early",
    ),
    # all together
    "the same line again": pool(
        "ready.eq(self.takes)", "ready.eq(0)", ConcatenatorProof, "line_in_no_packet"
    ),
    "forgets its first line": concatenation(
        "Mux(self.opens, self.free, before.mark.first)", "before.mark.first", "line_of_a_packet"
    ),
    "takes a line while it waits": table(
        "takes.eq(self.moves &", "takes.eq(beat_valid &", ConcatenatorProof, "lines_return"
    ),
    "counts no PR": concatenation("Mux(self.opens, 1,", "Mux(self.opens, 0,", "not_empty"),
    "closes within a PR": concatenation(
        "arrival.last & (ends | (self.demand", "(ends | (self.demand", "not_split"
    ),
    "takes all that comes": concatenation(
        "before.mark.used > self.demand.most", "0", "within_the_mtu"
    ),
}
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
