"""Has the rule whose acknowledgements ride in the next activation, and it with a clause altered."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sim.golden.reduction import allreduce
from sim.golden.reduction.allreduce import Outcome, Packet, Phase, SwitchSlot, Verdict
from sim.golden.reduction.shadow import shadow_worker_rule
from sim.golden.reduction.wide_rule import WideSlot, added, wide_rule
from tests.protocol.allreduce import nodes, variants
from tests.protocol.allreduce.nodes import FREED_EARLY, PARTIAL_AS_FULL, WRONG_SUM, Rules
from tests.protocol.allreduce.shadow_variants import full_of_any_use, pending_as_full
from tests.protocol.allreduce.variants import acked, unanswered, waits
from tests.protocol.explore import STUCK
from tests.protocol.variants import Variant, altered

FREE = Phase.FREE
NOTHING = (0,) * nodes.LANES
_ADDED, _PARTIAL_AGAIN = Verdict.ADDED, Verdict.REPEATED_PARTIAL


def wide(root: Any = wide_rule, worker: Any = shadow_worker_rule, **rules: Any) -> Rules:
    """Return the rule, but for what is given. A use is complete with the last activation."""
    start = {
        "slot": lambda everyone, uses: WideSlot.at_start(everyone, NOTHING, uses),
        "acknowledges_in": (FREE,),
        "finished": lambda slot, everyone: slot.agg_bm == everyone,
    }
    return Rules(**start | {"root": root, "worker": worker} | rules)


def where(change: Callable[..., Outcome], *verdicts: Verdict) -> Rules:
    """Return the rule, except that at one of the switch's `verdicts`, `change` decides."""
    return wide(altered(wide_rule, change, *verdicts))


def of_use_before(change: Callable[..., Outcome]) -> Rules:
    """Return the rule, except that `change` answers a packet of the use before the last one."""

    def changed(outcome: Outcome, slot: WideSlot, packet: Packet, *sizes: int) -> Outcome:
        return outcome if packet.use == slot.use else change(outcome, slot, packet, *sizes)

    return where(changed, _PARTIAL_AGAIN)


def full(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int, newer: int = 0) -> Outcome:
    """The switch answers with what it holds of the use, complete or not, or of a newer one."""
    payload = outcome.slot.sums[packet.use + newer & 1]
    return replace(outcome, answer=Packet(True, packet.bm, packet.use, payload=payload))


def doubled(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int) -> Outcome:
    """A partial activation is added once more."""
    total = added(outcome.slot.sums[packet.use & 1], packet.payload)
    return replace(outcome, slot=outcome.slot.with_sum(packet.use, total))


def begun(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int) -> Outcome:
    """A partial activation begins a use."""
    if not packet.is_agg:
        return outcome
    started = WideSlot(packet.use, packet.bm, slot.ack_bm | packet.bm, slot.sums)
    return Outcome(started.with_sum(packet.use, packet.payload), Verdict.ADDED)


def cleared(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int) -> Outcome:
    """The sum is cleared once everyone is answered."""
    if outcome.answer is None:
        return outcome
    return replace(outcome, slot=outcome.slot.with_sum(packet.use, NOTHING))


def sum_kept(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int) -> Outcome:
    """The first packet of a use is added to the sum that it replaces."""
    if outcome.slot.use == slot.use:
        return outcome
    total = added(slot.sums[packet.use & 1], packet.payload)
    return replace(outcome, slot=outcome.slot.with_sum(packet.use, total))


def one_sum(outcome: Outcome, *_: Any) -> Outcome:
    """The slot has one sum, which the next use overwrites before all have it."""
    newer = outcome.slot.sums[outcome.slot.use & 1]
    return replace(outcome, slot=replace(outcome.slot, sums=(newer, newer)))


def contributors_kept(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int) -> Outcome:
    """The first packet of a use does not clear who is in the sum."""
    if outcome.slot.use == slot.use:
        return outcome
    return full(replace(outcome, slot=replace(outcome.slot, agg_bm=slot.agg_bm)), slot, packet)


def not_ridden(outcome: Outcome, slot: WideSlot, *_: Any) -> Outcome:
    """A partial activation acknowledges nothing."""
    ack_bm = 0 if outcome.answer else slot.ack_bm
    return replace(outcome, slot=replace(outcome.slot, ack_bm=ack_bm))


def ridden_for_all(outcome: Outcome, slot: WideSlot, packet: Packet, *_: int) -> Outcome:
    """The first partial activation of a use acknowledges the use before for everyone."""
    begins = outcome.slot.use != slot.use and not outcome.answer
    return replace(outcome, slot=replace(outcome.slot, ack_bm=slot.agg_bm)) if begins else outcome


def acknowledgements_kept(outcome: Outcome, slot: WideSlot, *_: Any) -> Outcome:
    """A complete sum does not clear who has acknowledged the last one."""
    return replace(outcome, slot=replace(outcome.slot, ack_bm=slot.ack_bm))


def counted(outcome: Outcome, slot: WideSlot, packet: Packet, everyone: int, _: int) -> Outcome:
    """An acknowledgement counts for the last complete use, whatever its own."""
    if packet.is_agg:
        return outcome
    slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
    answer = Packet(False, everyone, packet.use, acked=True) if slot.ack_bm == everyone else None
    return Outcome(slot, Verdict.ACKNOWLEDGED, answer)


def waiting(slot: SwitchSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
    """The slot has one sum, and takes the next use when all have acknowledged it by a packet."""
    if packet.is_agg and (packet.use - slot.use) % uses == 1 and slot.agg_bm == everyone:
        slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
    return allreduce.switch_rule(slot, packet, everyone, uses)


#: What goes wrong within the bound: of two workers with w = 2, or of three with w = 1.
UNSOUND = {
    "partial added again": Variant(where(doubled, _PARTIAL_AGAIN), PARTIAL_AS_FULL),
    "answer before all are in": Variant(where(full, _ADDED), PARTIAL_AS_FULL),
    "repetition answered before all are in": Variant(where(full, _PARTIAL_AGAIN), PARTIAL_AS_FULL),
    "repetition not answered": Variant(where(unanswered, _PARTIAL_AGAIN), STUCK),
    "repetition pending for ever": Variant(where(waits, _PARTIAL_AGAIN), STUCK),
    "use before not answered": Variant(of_use_before(unanswered), STUCK),
    "use before has the last sum": Variant(of_use_before(partial(full, newer=1)), PARTIAL_AS_FULL),
    "one sum": Variant(wide(altered(wide_rule, one_sum)), PARTIAL_AS_FULL),
    "new use without waiting": Variant(where(begun, Verdict.EARLY), PARTIAL_AS_FULL),
    "stale partial begins a use": Variant(where(begun, Verdict.STALE), WRONG_SUM),
    "sum cleared when sent": Variant(where(cleared, _ADDED), PARTIAL_AS_FULL),
    "sum of two uses ago kept": Variant(where(sum_kept, _ADDED), PARTIAL_AS_FULL),
    "contributors kept": Variant(where(contributors_kept, _ADDED), PARTIAL_AS_FULL),
    "partial does not acknowledge": Variant(where(not_ridden, _ADDED), STUCK),
    "partial acknowledges for all": Variant(where(ridden_for_all, _ADDED), FREED_EARLY, None, 3),
    "acknowledgements kept": Variant(where(acknowledgements_kept, _ADDED), FREED_EARLY),
    "acked before all have": Variant(where(acked, Verdict.ACKNOWLEDGED), FREED_EARLY),
    "repetition acked before all have": Variant(where(acked, Verdict.REPEATED_ACK), FREED_EARLY),
    "acknowledgement not confirmed": Variant(where(unanswered, Verdict.REPEATED_ACK), STUCK),
    "acknowledgement pending for ever": Variant(where(waits, Verdict.REPEATED_ACK), STUCK),
    "stale acknowledgement counted": Variant(where(counted, Verdict.STALE), FREED_EARLY),
    "full of any use": Variant(wide(worker=full_of_any_use), WRONG_SUM),
    "full in any phase": Variant(wide(worker=variants.full_in_any_phase), nodes.REPEATED_SUM),
    "pending is a sum": Variant(wide(worker=pending_as_full), WRONG_SUM),
    "pending confirms": Variant(wide(worker=variants.pending_as_freed), FREED_EARLY),
    "confirmation of any use": Variant(wide(worker=variants.freed_of_any_use), FREED_EARLY),
}

HARMLESS = {
    "early and stale packets pending": where(waits, Verdict.EARLY, Verdict.STALE),
    "stale acknowledgement answered": where(acked, Verdict.STALE),
    # A worker that waits for a confirmation has the sum, so that it may go on without it.
    "next use before the confirmation": wide(starts_in=(FREE, Phase.ACK)),
    "each use acknowledged": wide(worker=allreduce.worker_rule),
    # Each use's first activations, which only acknowledge, are sent again.
    "one sum that waits": wide(waiting, slot=nodes.slot_at_start),
}
