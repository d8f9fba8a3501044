"""Proves the rule of a worker's slots from its RTL at three slots; broken RTL is found."""

from hdl.p4sgd.transport.params import TransportParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.transport.slot_table_proof import SlotTableProof
from tests.mutants import mutants_are_detected, mutants_of

PARAMS = TransportParams(slots=3, lanes=1)


MUTANTS = mutants_of(
    [SlotTableProof],
    """
    @hdl.p4sgd.transport.slot_table; SlotTableProof; SlotTable
    takes a sum without a job; m.Elif(~self.open) => m.Elif(0); nothing_is_taken_without_a_job
    takes a sum of another use; fits.eq(is_one & (arrival => fits.eq((arrival; verdict_of_rule
    takes a sum of the use before; is_one & (arrival.use[0] == bit) => is_one; verdict_of_rule
    takes pending for a sum; arrival.acked & (phase != Phase.FREE) => 0; verdict_of_rule
    pending in a free slot; arrival.acked & (phase != Phase.FREE) => arrival.acked; verdict_of_rule
    takes a sum twice; arrival.is_agg & (phase == Phase.PARTIAL) => arrival.is_agg; verdict_of_rule
    frees without a sum; ~arrival.is_agg & (phase == Phase.ACK) => ~arrival.is_agg; verdict_of_rule
    judges what arrivals have judged; m.If(arrival.verdict != Verdict.NONE) => m.If(0);
        verdict_of_arrivals
    judges what is not there; m.If(self.valid) => m.If(1); no_packet_no_verdict
    keeps a freed slot; port.data.freed.eq(bit ^ acknowledged) => port.data.freed.eq(0);
        idle_at_rest
    forgets the use; port.data.taken.eq(bit) => port.data.taken.eq(1); arrived_if_its_sum_came
    starts before it is handed on; full.eq(self.outstanding == all_but_one) =>
        full.eq(self.outstanding > all_but_one); may_start_if_free_and_handed_on
    starts before it is free; & of_next.data.has_freed_before(self.next_use) => ;
        may_start_if_free_and_handed_on
    leaves a slot unused; full.eq(self.outstanding == all_but_one) =>
        full.eq(self.outstanding + 1 == all_but_one); may_start_if_free_and_handed_on
    one slot too many; Mux(last, 0, slot + 1) => slot + 1; next_use_follows
    uses do not go on; self.next_use.eq(self.next_use + 1), => self.next_use.eq(self.next_use),;
        next_use_follows
    clears all but the last; cleared == self.params.slots - 1 => cleared == self.params.slots - 2;
        opens_in_time
    clears on; self.clearing.eq(0), self.open.eq(1) => self.open.eq(1); open_or_clearing
    clear leaves what waits; [waiting.eq(0), none_waits.eq(1), => [waiting.eq(0),; idle_at_rest
    never waits; none_waits.eq(freed & (waiting == 1)) => none_waits.eq(1); rests_when_idle
    hands on what no job has; (ahead != 0) & port => port; starts_nothing
    sums go round once; m.d.sync += bit.eq(~bit) => m.d.sync += bit.eq(bit); arrived_if_its_sum_came
    sees the first for ever; self.seen, self.seen) => self.seen, 0); seen_if_its_sum_came
    sees what is to be handed on; port.addr.eq(slot) => port.addr.eq(self.deliver_slot);
        seen_if_its_sum_came
    at rest too early; none_waits & (self.outstanding == 0) => self.outstanding == 0;
        rests_when_idle
    counts a start only; self.outstanding + self.start - self.delivered =>
        self.outstanding + self.start; outstanding_counts
    answers of another slot; port.addr.eq(question) => port.addr.eq(self.next_slot); answers_phase
    answers with the next use; Mux(bit == self.next_use[0], self.next_use, previous_use) =>
        self.next_use; answers_use
    keeps the use of no start; port.en.eq(self.start | self.clearing) => port.en.eq(self.clearing);
        answers_phase
    keeps uses of another job; self.next_use[0] | self.clearing => self.next_use[0]; answers_use
    """,
)
SAMPLES = ["starts before it is handed on", "sums go round once"]


def test_holds_for_all_time():
    hold(SlotTableProof(PARAMS), mode="prove", depth=2)


def test_what_is_proven_can_happen():
    hold(SlotTableProof(PARAMS), mode="cover", depth=16)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [SlotTableProof(PARAMS)], SAMPLES
)
