"""Proves a bank and its lists from their RTL at few aggregators; broken RTL is found."""

import pytest

from tests.formal.sby import hold
from tests.hdl.switchgnn.switch.banks.bank_proof import BankProof
from tests.hdl.switchgnn.switch.banks.ready_lists_proof import ReadyListsProof
from tests.hdl.switchgnn.switch.sizes import TINY, bank_sizes
from tests.long import short_and_long
from tests.mutants import mutants_are_detected, mutants_of

MUTANTS = mutants_of(
    [ReadyListsProof, BankProof],
    """
    @hdl.switchgnn.switch.banks.ready_lists; ReadyListsProof; ReadyLists
    ready while the next slot is read; first | steps[k] | => first | (pops[k] & ~single[k]) |;
        ready_two_cycles_after_a_pop
    the last is not the last; only.eq(links.read_data == => only.eq(links.read_data !=;
        ready_two_cycles_after_a_pop
    still the only one; single[k]) & ~pushes[k] => single[k]); ready_two_cycles_after_a_pop
    soon ready at the last moment; self.soon.eq(some) => self.soon.eq(ready); soon_if_it_has_some
    links into an empty list; (pushes & some).any() => push.valid; head_came_first
    links behind the first; Array(tails)[push.port] => Array(heads)[push.port]; head_came_first
    keeps the old end; with m.If(pushes[k]): => with m.If(first):; head_came_first
    forgets the head; with m.If(first | steps[k]): => with m.If(first):; in_one_place_at_most
    @hdl.switchgnn.switch.banks.bank_rule; BankProof; hdl.switchgnn.switch.banks.bank.BankRule; 14
    adds to a complete sum; before.used & ~finished => before.used; added_by_rule
    adds to what is not used; before.used & ~finished => ~finished; added_by_rule
    adds to what is outside; self.added.eq(is_add & ~self.outside => self.added.eq(is_add;
        sums_change_in_their_region
    loads what is outside; is_load) & ~self.outside => is_load); states_change_in_their_region
    unknown ports; used.eq(self.has_port() & => used.eq(; added_by_rule
    one contribution less; before.expected == 1 => before.expected == 2; leaves_by_rule
    queues twice; completes & ~before.queued => completes; waits_in_one_place_if_queued
    fetches twice; finished & ~before.queued => finished; waits_in_one_place_if_queued
    leaves by any port; before.complete & own & ~self.recent => before.complete & ~self.recent;
        leaves_by_rule
    leaves too early; before.complete & own & ~self.recent => before.complete & own; leaves_by_rule
    says that all is used; with m.Elif(is_add & ~before.used) => with m.Elif(0); error_by_rule
    stays in its list when cleared; after.queued.eq(~self.clear & Mux => after.queued.eq(Mux;
        waits_in_one_place_if_queued
    @hdl.switchgnn.switch.banks.sum_memory; BankProof; hdl.switchgnn.switch.banks.bank.SumMemory; 14
    keeps the old sum; Mux(self.keep, latest, SumsFrom.NOWHERE) => latest; result_has_the_sums
    forgets the newest sum; & self.write => & 0; result_has_the_sums
    forgets the older sum; & adds => & 0; result_has_the_sums
    always old enough; latest != SumsFrom.MEMORY => 0; leaves_by_rule
    @hdl.switch.update_memory; BankProof; hdl.switchgnn.switch.banks.bank.UpdateMemory
    forgets the newest change; Mux(hits[0], 1, => Mux(0, 1,; added_by_rule
    forgets the oldest change; Mux(Cat(hits[2:]).any(), 3, 0) => 0; added_by_rule
    @hdl.switchgnn.switch.banks.bank; BankProof; Bank; 14
    one aggregator too many; command.index >= command.region.count =>
        command.index > command.region.count; sums_change_in_their_region
    regions begin at 0; command.region.base + command.index => command.index;
        states_change_in_their_region
    writes what is not added; sums.write.eq(rule.added) => sums.write.eq(rule.write);
        sums_change_in_their_region
    the slot of the command behind; delay(m, address, UpdateMemory.lead, "slot") =>
        delay(m, address, UpdateMemory.lead - 1, "slot"); result_of_its_aggregator
    ready too early; cleared != self.params.slots - 1 => cleared != self.params.slots - 2;
        all_are_cleared
    """,
)
SAMPLES = ["the last is not the last", "one aggregator too many"]

#: Aggregators; cycles of the induction, and of what is reached.
PROOFS = {ReadyListsProof: (4, 4, 14), BankProof: (2, 7, 20)}
kinds = pytest.mark.parametrize("kind", PROOFS, ids=lambda kind: kind.__name__)
SIZES = [(ReadyListsProof, 4), (ReadyListsProof, TINY.slots), (BankProof, 2)]


def of_size(kind, slots=None):
    """Return a proof of three ports."""
    return kind(bank_sizes(ports=TINY.ports, slots=slots or PROOFS[kind][0]))


@pytest.mark.parametrize(("kind", "slots"), short_and_long(SIZES, SIZES[:1]))
def test_holds_for_all_time(kind, slots):
    hold(of_size(kind, slots), mode="prove", depth=PROOFS[kind][1])


def test_holds_for_the_first_cycles():
    hold(of_size(BankProof), mode="bmc", depth=8)


@kinds
def test_what_is_proven_can_happen(kind):
    hold(of_size(kind), mode="cover", depth=PROOFS[kind][2])


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [of_size(kind) for kind in PROOFS], SAMPLES
)
