"""Has other rules of one switch: the paper's own, and the specification with a clause altered."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim.golden.reduction.allreduce import (
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Verdict,
    WorkerSlot,
    pending,
    saturated,
    worker_rule,
)
from sim.golden.reduction.tree_rule import root_rule
from tests.protocol.allreduce.nodes import (
    FREED_EARLY,
    LANES,
    PARTIAL_AS_FULL,
    REPEATED_SUM,
    WRONG_SUM,
    Rules,
)
from tests.protocol.explore import STUCK
from tests.protocol.variants import Variant, altered


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
        slot = SwitchSlot(0, together(slot, packet), slot.agg_bm | packet.bm, ack_bm)
    full = Packet(True, everyone, 0, payload=saturated(slot.agg))
    return Outcome(slot, verdict, full if slot.agg_bm == everyone else None)


PAPER = Rules(slot=paper_start, root=paper_switch)


def where(change: Callable[..., Outcome], *verdicts: Verdict) -> Rules:
    """Return the specification, except that at one of the switch's `verdicts`, `change` decides.

    It is given the specification's outcome, the slot, the packet, the bitmap of everyone, and uses.
    """
    return Rules(root=altered(root_rule, change, *verdicts))


def together(slot: SwitchSlot, packet: Packet) -> tuple[int, ...]:
    """Return the sum of what the slot holds and a packet."""
    return tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))


def unanswered(outcome: Outcome, *_: Any) -> Outcome:
    """The switch gives no answer."""
    return replace(outcome, answer=None)


def answered_to_all(outcome: Outcome, slot: Any, packet: Any, everyone: int, uses: int) -> Outcome:
    """The switch gives the same answer, if any, to everyone."""
    answer = outcome.answer and replace(outcome.answer, bm=everyone)
    return replace(outcome, answer=answer)


def full(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """The switch answers with what the slot holds, complete or not."""
    payload = saturated(outcome.slot.agg)
    return replace(outcome, answer=Packet(True, packet.bm, outcome.slot.use, payload=payload))


def waits(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """The switch answers pending, complete or not."""
    return replace(outcome, answer=pending(packet))


def acked(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """The switch answers an acknowledgement with acked."""
    if packet.is_agg:
        return outcome
    return replace(outcome, answer=Packet(False, packet.bm, packet.use, acked=True))


def counted(outcome: Outcome, slot: SwitchSlot, packet: Packet, everyone: int, _: int) -> Outcome:
    """An acknowledgement counts for the slot's use, whatever its own."""
    if packet.is_agg:
        return outcome
    slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
    answer = Packet(False, everyone, slot.use, acked=True) if slot.ack_bm == everyone else None
    return Outcome(slot, Verdict.ACKNOWLEDGED, answer)


def begun(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """A partial activation begins a new use."""
    if not packet.is_agg:
        return outcome
    return Outcome(SwitchSlot(packet.use, packet.payload, packet.bm, 0), Verdict.ADDED)


def added(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """A partial activation is added once more."""
    return replace(outcome, slot=replace(outcome.slot, agg=together(outcome.slot, packet)))


def cleared(outcome: Outcome, *_: Any) -> Outcome:
    """Once everyone is answered, the sum is cleared."""
    if outcome.answer is None:
        return outcome
    return replace(outcome, slot=replace(outcome.slot, agg=(0,) * LANES))


def sum_kept(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """The first packet of a use is added to the last use's sum."""
    if outcome.slot.use == slot.use:
        return outcome
    return replace(outcome, slot=replace(outcome.slot, agg=together(slot, packet)))


def contributors_kept(outcome: Outcome, slot: SwitchSlot, packet: Packet, *_: int) -> Outcome:
    """The first packet of a use does not clear who is in the sum."""
    if outcome.slot.use == slot.use:
        return outcome
    stored = replace(outcome, slot=replace(outcome.slot, agg_bm=slot.agg_bm))
    return full(stored, slot, packet)


def acknowledgements_kept(outcome: Outcome, slot: SwitchSlot, *_: Any) -> Outcome:
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


_ADDED, _ACKED = Verdict.ADDED, Verdict.ACKNOWLEDGED
_PARTIAL_AGAIN, _ACK_AGAIN = Verdict.REPEATED_PARTIAL, Verdict.REPEATED_ACK
_BEFORE, _STALE = Verdict.PREVIOUS_ACK, Verdict.STALE

#: What goes wrong within the bound, with w = 2, where w = 1 does not say more.
UNSOUND = {
    "new use without waiting": Variant(where(begun, Verdict.EARLY), FREED_EARLY),
    "partial added again": Variant(where(added, _PARTIAL_AGAIN), PARTIAL_AS_FULL),
    "answer before all are in": Variant(where(full, _ADDED), PARTIAL_AS_FULL),
    "repetition answered before all are in": Variant(where(full, _PARTIAL_AGAIN), PARTIAL_AS_FULL),
    "repeated partial not answered": Variant(where(unanswered, _PARTIAL_AGAIN), STUCK),
    "repeated partial pending for ever": Variant(where(waits, _PARTIAL_AGAIN), STUCK),
    "repeated acknowledgement pending for ever": Variant(where(waits, _ACK_AGAIN), STUCK),
    "pending taken for a sum": Variant(Rules(worker=pending_as_full), WRONG_SUM),
    "pending taken for a confirmation": Variant(Rules(worker=pending_as_freed), FREED_EARLY),
    "acked before all have acknowledged": Variant(where(acked, _ACKED), FREED_EARLY),
    "repetition acked before all have acknowledged": Variant(where(acked, _ACK_AGAIN), FREED_EARLY),
    "repeated acknowledgement not answered": Variant(where(unanswered, _ACK_AGAIN), STUCK),
    "acknowledgement of the use before dropped": Variant(where(unanswered, _BEFORE), STUCK),
    "acknowledgement of the use before counted": Variant(where(counted, _BEFORE), FREED_EARLY),
    "stale partial begins a use": Variant(where(begun, _STALE), FREED_EARLY),
    "stale acknowledgement counted": Variant(where(counted, _STALE), FREED_EARLY),
    "sum cleared when sent": Variant(where(cleared, _ADDED), PARTIAL_AS_FULL),
    # Late repetitions are answered with nothing; only within the bound does nobody wait for it.
    "sum cleared when all have acknowledged": Variant(where(cleared, _ACKED), PARTIAL_AS_FULL),
    "sum of the use before kept": Variant(where(sum_kept, _ADDED), PARTIAL_AS_FULL),
    "contributors of the use before kept": Variant(
        where(contributors_kept, _ADDED), PARTIAL_AS_FULL
    ),
    "acknowledgements of the use before kept": Variant(
        where(acknowledgements_kept, _ADDED), FREED_EARLY
    ),
    "start at use 0": Variant(started_with(0, True, True), PARTIAL_AS_FULL),
    "start without acknowledgements": Variant(started_with(-1, True, False), STUCK),
    "full activation in any phase": Variant(Rules(worker=full_in_any_phase), REPEATED_SUM),
    "full activation of any use": Variant(Rules(worker=full_of_any_use), WRONG_SUM),
    "confirmation of any use": Variant(Rules(worker=freed_of_any_use), FREED_EARLY),
}

HARMLESS = {
    # Who does not wait for the answer ignores it.
    "repeated partial answered to all": where(answered_to_all, _PARTIAL_AGAIN),
    "repeated acknowledgement answered to all": where(answered_to_all, _ACK_AGAIN),
    "use before acked to all": where(answered_to_all, _BEFORE),
    # Nobody waits to be freed of a use older than the switch's previous one.
    "stale acknowledgement answered": where(acked, _STALE),
    # Pending changes nothing at a worker.
    "early partial pending": where(waits, Verdict.EARLY),
    "stale packets pending": where(waits, _STALE),
    # Never happens: a worker acknowledges when it has the sum, so the switch has it as well, and
    # the acknowledgement of 2^w uses ago is past the bound.
    "acknowledgement of an incomplete sum counted": where(counted, Verdict.PREMATURE_ACK),
    # The first use overwrites it.
    "start without contributors": started_with(-1, False, True),
    # Never happens: everyone has acknowledged, hence received, before any confirmation is sent.
    "confirmation in any phase": Rules(worker=freed_in_any_phase),
}
