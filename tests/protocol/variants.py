"""Has other rules: the paper's own, and the specification with one of its clauses altered."""

from collections.abc import Callable
from dataclasses import replace

from sim.p4sgd.golden.allreduce import (
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Verdict,
    WorkerSlot,
    pending,
    saturated,
    switch_rule,
    worker_rule,
)
from tests.protocol.model import LANES, Rules

# The slot before, the packet, the bitmap of everyone, what the specification does: what is done.
Change = Callable[[SwitchSlot, Packet, int, Outcome], Outcome]


def paper_start(everyone: int, uses: int) -> SwitchSlot:
    """Return the paper's slot at first, with nothing in it."""
    return SwitchSlot(0, (0,) * LANES, 0, 0)


def paper_switch(slot: SwitchSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
    """Run Algorithm 2 as the paper has it, without numbers of uses (the packets' use is always 0).

    The first packet of a new use resets the acknowledgements, the last acknowledgement the sum.
    """
    if packet.is_agg:
        return paper_partial(slot, packet, everyone)
    verdict = Verdict.REPEATED_ACK if slot.ack_bm & packet.bm else Verdict.ACKNOWLEDGED
    if verdict is Verdict.ACKNOWLEDGED:
        slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
        if slot.ack_bm == everyone:
            slot = replace(slot, agg=(0,) * LANES, agg_bm=0)
    acked = Packet(False, everyone, 0, acked=True)
    return Outcome(slot, verdict, acked if slot.ack_bm == everyone else None)


def paper_partial(slot: SwitchSlot, packet: Packet, everyone: int) -> Outcome:
    """Run the part of Algorithm 2 for partial activations."""
    verdict = Verdict.REPEATED_PARTIAL
    if not slot.agg_bm & packet.bm:
        verdict = Verdict.ADDED
        ack_bm = slot.ack_bm if slot.agg_bm else 0
        agg = tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))
        slot = SwitchSlot(0, agg, slot.agg_bm | packet.bm, ack_bm)
    full = Packet(True, everyone, 0, payload=saturated(slot.agg))
    return Outcome(slot, verdict, full if slot.agg_bm == everyone else None)


PAPER = Rules(slot=paper_start, switch=paper_switch)


def where(verdict: Verdict, change: Change) -> Rules:
    """Return the specification, except that at `verdict` of the switch, `change` decides."""

    def switch(slot: SwitchSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
        outcome = switch_rule(slot, packet, everyone, uses)
        return change(slot, packet, everyone, outcome) if outcome.verdict is verdict else outcome

    return Rules(switch=switch)


def unanswered(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The switch gives no answer."""
    return replace(outcome, answer=None)


def answered_to_all(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The switch gives the same answer, if any, to everyone."""
    answer = outcome.answer and replace(outcome.answer, bm=everyone)
    return replace(outcome, answer=answer)


def full(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The switch answers with what the slot holds, complete or not."""
    payload = saturated(outcome.slot.agg)
    return replace(outcome, answer=Packet(True, packet.bm, outcome.slot.use, payload=payload))


def waits(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The switch answers pending, complete or not."""
    return replace(outcome, answer=pending(packet))


def acked(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The switch answers an acknowledgement with acked."""
    if packet.is_agg:
        return outcome
    return replace(outcome, answer=Packet(False, packet.bm, packet.use, acked=True))


def counted(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """An acknowledgement counts for the slot's use, whatever its own."""
    if packet.is_agg:
        return outcome
    slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
    answer = Packet(False, everyone, slot.use, acked=True) if slot.ack_bm == everyone else None
    return Outcome(slot, Verdict.ACKNOWLEDGED, answer)


def begun(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """A partial activation begins a new use."""
    if not packet.is_agg:
        return outcome
    return Outcome(SwitchSlot(packet.use, packet.payload, packet.bm, 0), Verdict.ADDED)


def added(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """A partial activation is added once more."""
    agg = tuple(a + b for a, b in zip(outcome.slot.agg, packet.payload, strict=True))
    return replace(outcome, slot=replace(outcome.slot, agg=agg))


def cleared(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """Once everyone is answered, the sum is cleared."""
    if outcome.answer is None:
        return outcome
    return replace(outcome, slot=replace(outcome.slot, agg=(0,) * LANES))


def sum_kept(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The first packet of a use is added to the last use's sum."""
    if outcome.slot.use == slot.use:
        return outcome
    agg = tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))
    return replace(outcome, slot=replace(outcome.slot, agg=agg))


def contributors_kept(slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome) -> Outcome:
    """The first packet of a use does not clear who is in the sum."""
    if outcome.slot.use == slot.use:
        return outcome
    outcome = replace(outcome, slot=replace(outcome.slot, agg_bm=slot.agg_bm))
    return full(slot, packet, everyone, outcome)


def acknowledgements_kept(
    slot: SwitchSlot, packet: Packet, everyone: int, outcome: Outcome
) -> Outcome:
    """The first packet of a use does not clear who has acknowledged."""
    return replace(outcome, slot=replace(outcome.slot, ack_bm=slot.ack_bm))


def started_with(use: int, agg: bool, ack: bool) -> Rules:
    """A job's start leaves another use, or a bitmap empty."""

    def slot(everyone: int, uses: int) -> SwitchSlot:
        return SwitchSlot(use % uses, (0,) * LANES, everyone * agg, everyone * ack)

    return Rules(slot=slot)


def full_in_any_phase(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """A full activation of its use is taken whether or not the worker waits for it."""
    if packet.is_agg and not packet.acked and packet.use == slot.use:
        return replace(slot, phase=Phase.ACK), Verdict.FULL
    return worker_rule(slot, packet)


def full_of_any_use(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """A worker that waits for a full activation takes any."""
    return worker_rule(slot, replace(packet, use=slot.use) if packet.is_agg else packet)


def pending_as_full(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """A worker looks at is_agg alone."""
    return worker_rule(slot, replace(packet, acked=packet.acked and not packet.is_agg))


def pending_as_freed(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """A worker looks at acked alone."""
    return worker_rule(slot, replace(packet, is_agg=packet.is_agg and not packet.acked))


def freed_in_any_phase(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """A confirmation of its use frees the slot whether or not the worker waits for it."""
    if packet.acked and not packet.is_agg and packet.use == slot.use:
        return replace(slot, phase=Phase.FREE), Verdict.FREED
    return worker_rule(slot, packet)


def freed_of_any_use(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """A worker that waits for a confirmation takes any."""
    return worker_rule(slot, replace(packet, use=slot.use) if packet.acked else packet)


UNSOUND = {
    "new use without waiting": where(Verdict.EARLY, begun),
    "partial added again": where(Verdict.REPEATED_PARTIAL, added),
    "answer before all are in": where(Verdict.ADDED, full),
    "repetition answered before all are in": where(Verdict.REPEATED_PARTIAL, full),
    "repeated partial not answered": where(Verdict.REPEATED_PARTIAL, unanswered),
    "repeated partial pending for ever": where(Verdict.REPEATED_PARTIAL, waits),
    "repeated acknowledgement pending for ever": where(Verdict.REPEATED_ACK, waits),
    "pending taken for a sum": Rules(worker=pending_as_full),
    "pending taken for a confirmation": Rules(worker=pending_as_freed),
    "acked before all have acknowledged": where(Verdict.ACKNOWLEDGED, acked),
    "repetition acked before all have acknowledged": where(Verdict.REPEATED_ACK, acked),
    "repeated acknowledgement not answered": where(Verdict.REPEATED_ACK, unanswered),
    "acknowledgement of the use before dropped": where(Verdict.PREVIOUS_ACK, unanswered),
    "acknowledgement of the use before counted": where(Verdict.PREVIOUS_ACK, counted),
    "stale partial begins a use": where(Verdict.STALE, begun),
    "stale acknowledgement counted": where(Verdict.STALE, counted),
    "sum cleared when sent": where(Verdict.ADDED, cleared),
    # Late repetitions are answered with nothing; only within the bound does nobody wait for it.
    "sum cleared when all have acknowledged": where(Verdict.ACKNOWLEDGED, cleared),
    "sum of the use before kept": where(Verdict.ADDED, sum_kept),
    "contributors of the use before kept": where(Verdict.ADDED, contributors_kept),
    "acknowledgements of the use before kept": where(Verdict.ADDED, acknowledgements_kept),
    "start at use 0": started_with(0, True, True),
    "start without acknowledgements": started_with(-1, True, False),
    "full activation in any phase": Rules(worker=full_in_any_phase),
    "full activation of any use": Rules(worker=full_of_any_use),
    "confirmation of any use": Rules(worker=freed_of_any_use),
}

HARMLESS = {
    # Who does not wait for the answer ignores it.
    "repeated partial answered to all": where(Verdict.REPEATED_PARTIAL, answered_to_all),
    "repeated acknowledgement answered to all": where(Verdict.REPEATED_ACK, answered_to_all),
    "use before acked to all": where(Verdict.PREVIOUS_ACK, answered_to_all),
    # Nobody waits to be freed of a use older than the switch's previous one.
    "stale acknowledgement answered": where(Verdict.STALE, acked),
    # Pending changes nothing at a worker.
    "early partial pending": where(Verdict.EARLY, waits),
    "stale packets pending": where(Verdict.STALE, waits),
    # Never happens: a worker acknowledges when it has the sum, so the switch has it as well, and
    # the acknowledgement of 2^w uses ago is past the bound.
    "acknowledgement of an incomplete sum counted": where(Verdict.PREMATURE_ACK, counted),
    # The first use overwrites it.
    "start without contributors": started_with(-1, False, True),
    # Never happens: everyone has acknowledged, hence received, before any confirmation is sent.
    "confirmation in any phase": Rules(worker=freed_in_any_phase),
}
