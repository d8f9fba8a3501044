"""Proves the tags of a Property Cache at four ways for all time; broken RTL is found."""

from tests.formal.sby import hold
from tests.hdl.netsparse.property_cache.tags_proof import PropertyTagsProof, SmallParams
from tests.mutants import mutants_are_detected, mutants_of

PARAMS = SmallParams(cache_bytes=256, segments=2, ways=4, idx_bits=4, latency=10, style="auto")
STEPS = 6  #: of induction; with fewer, what is under way before them matters
REACHED = 15  #: cycles


MUTANTS = mutants_of(
    [PropertyTagsProof],
    r"""
    @hdl.netsparse.property_cache.tags; PropertyTagsProof; PropertyTags
    deaf to the one before; self.mend(m, known, row, line, place)) => known); detected_by_the_rule
    deaf to the fifth before; reversed(range(1, REACH)) => reversed(range(1, REACH - 1));
        no_tag_in_two_ways
    finds what it does not hold; hits.eq(ways & before.holds) => hits.eq(ways); detected_by_the_rule
    an insert is a use; (hits & looks_up.replicate(params.ways)) => hits; way_by_the_rule
    takes a way for what is there; installed.eq(inserts & ~hits.any()) => installed.eq(inserts);
        installed_by_the_rule
    always replaces; & full => ; replaced_by_the_rule
    keeps the order when it is cleared; rows.after.eq(0) => after.holds.eq(0);
        order_is_a_permutation
    finds without an access; (inserts | looks_up) & hits.any() => hits.any();
        only_accesses_find_or_take
    @hdl.netsparse.lru; PropertyTagsProof; hdl.netsparse.property_cache.tags.least_recent
    the newest one goes; [\n        ~newer[number] if first == way else newer[number] =>
        [\n        newer[number] if first == way else ~newer[number]; way_by_the_rule
    @hdl.netsparse.lru; PropertyTagsProof; hdl.netsparse.property_cache.tags.after_use
    a use turns the order round; newer[number] | used[first] => newer[number] ^ used[first];
        way_by_the_rule
    """,
)
SAMPLES = ["deaf to the fifth before"]


def test_holds_for_all_time():
    hold(PropertyTagsProof(PARAMS), mode="prove", depth=STEPS)


def test_what_is_proven_can_happen():
    hold(PropertyTagsProof(PARAMS), mode="cover", depth=REACHED)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [PropertyTagsProof(PARAMS)], SAMPLES
)
