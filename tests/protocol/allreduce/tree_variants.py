"""Alters one clause of the rule of a switch with a parent."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim.golden.reduction.allreduce import Packet, Verdict
from sim.golden.reduction.tree_rule import (
    TreeOutcome,
    TreeSlot,
    child_rule,
    parent_rule,
    upward,
)
from tests.protocol.allreduce.nodes import FREED_EARLY, WRONG_SUM, Rules
from tests.protocol.explore import STUCK
from tests.protocol.variants import Variant, altered


def of_child(change: Callable[..., TreeOutcome], verdict: Verdict) -> Rules:
    """Return the specification, except that at a verdict on a child, `change` decides."""
    return Rules(child=altered(child_rule, change, verdict))


def of_parent(change: Callable[..., TreeOutcome], verdict: Verdict) -> Rules:
    """Return the same for the parent's packets."""
    return Rules(parent=altered(parent_rule, change, verdict))


def nothing_up(outcome: TreeOutcome, *_: Any) -> TreeOutcome:
    """The switch sends nothing up."""
    return replace(outcome, up=None)


def nothing_down(outcome: TreeOutcome, *_: Any) -> TreeOutcome:
    """The switch sends nothing down."""
    return replace(outcome, down=None)


def own_sum(outcome: TreeOutcome, _: TreeSlot, packet: Packet, everyone: int, *__: Any) -> Any:
    """The children get the sum of this subtree as if it were everyone's."""
    if outcome.up is None or not packet.is_agg:
        return outcome
    return replace(outcome, down=replace(outcome.up, bm=everyone))


def own_word(outcome: TreeOutcome, _: TreeSlot, packet: Packet, everyone: int, *__: Any) -> Any:
    """The children are freed when all of them have acknowledged, whatever the parent says."""
    if outcome.up is None or packet.is_agg:
        return outcome
    return replace(outcome, down=Packet(False, everyone, packet.use, acked=True))


def incomplete(outcome: TreeOutcome, *_: Any) -> TreeOutcome:
    """The switch sends up what has come so far."""
    return replace(outcome, up=upward(outcome.slot))


def begins(_: TreeOutcome, slot: TreeSlot, packet: Packet, everyone: int, *__: Any) -> Any:
    """The next use begins though the parent has not said that this one has finished."""
    own = replace(slot.own, ack_bm=everyone)
    return child_rule(TreeSlot(own, slot.full, True), packet, everyone)


def old_sum(outcome: TreeOutcome, slot: TreeSlot, packet: Packet, *_: Any) -> TreeOutcome:
    """A new use begins with the full activation of the one before."""
    if outcome.slot.own.use == slot.own.use or slot.full is None:
        return outcome
    stored = replace(slot.full, use=packet.use)
    return replace(outcome, slot=replace(outcome.slot, full=stored))


def old_word(outcome: TreeOutcome, slot: TreeSlot, *_: Any) -> TreeOutcome:
    """A new use begins as finished as the one before was."""
    return replace(outcome, slot=replace(outcome.slot, finished=slot.finished))


def not_kept(outcome: TreeOutcome, slot: TreeSlot, *_: Any) -> TreeOutcome:
    """What the parent says is passed on and not kept."""
    return replace(outcome, slot=slot)


def counted(outcome: TreeOutcome, slot: TreeSlot, packet: Packet, *_: Any) -> TreeOutcome:
    """An acknowledgement counts before the full activation is there."""
    own = replace(slot.own, ack_bm=slot.own.ack_bm | packet.bm)
    return replace(outcome, slot=replace(slot, own=own))


def taken(outcome: TreeOutcome, slot: TreeSlot, packet: Packet, everyone: int) -> TreeOutcome:
    """A full activation and the parent's word are taken whatever the slot waits for."""
    after = replace(slot, full=packet) if packet.is_agg else replace(slot, finished=True)
    return replace(outcome, slot=after, down=replace(packet, bm=everyone))


def of_any_use(slot: TreeSlot, packet: Packet, everyone: int) -> TreeOutcome:
    """What the parent says is taken for the slot's use."""
    return parent_rule(slot, replace(packet, use=slot.own.use), everyone)


def by_any_port(slot: TreeSlot, packet: Packet, everyone: int, uses: int) -> TreeOutcome:
    """A full activation may come by any port: it looks as a repeated partial activation does."""
    if packet.is_agg and slot.full is None and slot.own.agg_bm == everyone:
        return parent_rule(slot, packet, everyone)
    return child_rule(slot, packet, everyone, uses)


_ADDED, _ACKED = Verdict.ADDED, Verdict.ACKNOWLEDGED
_PARTIAL_AGAIN, _ACK_AGAIN = Verdict.REPEATED_PARTIAL, Verdict.REPEATED_ACK
_BEFORE = Verdict.PREVIOUS_ACK

#: What goes wrong in two leaves with two workers each, w = 1.
UNSOUND = {
    "own sum goes down": Variant(of_child(own_sum, _ADDED), WRONG_SUM, 5),
    "own sum answers repetitions": Variant(of_child(own_sum, _PARTIAL_AGAIN), WRONG_SUM, 6),
    "own word goes down": Variant(of_child(own_word, _ACKED), FREED_EARLY, 16),
    "own word answers repetitions": Variant(of_child(own_word, _ACK_AGAIN), FREED_EARLY, 17),
    "incomplete sum goes up": Variant(of_child(incomplete, _ADDED), WRONG_SUM, 10),
    "incomplete acknowledgement goes up": Variant(of_child(incomplete, _ACKED), FREED_EARLY, 22),
    "next use before the parent's word": Variant(of_child(begins, Verdict.EARLY), FREED_EARLY, 43),
    "full activation of the use before kept": Variant(of_child(old_sum, _ADDED), WRONG_SUM, 5),
    "word of the use before kept": Variant(of_child(old_word, _ADDED), FREED_EARLY, 16),
    "sum not sent up again": Variant(of_child(nothing_up, _PARTIAL_AGAIN), STUCK, 4),
    "acknowledgement not sent up again": Variant(of_child(nothing_up, _ACK_AGAIN), STUCK, 15),
    "repeated partial not answered": Variant(of_child(nothing_down, _PARTIAL_AGAIN), STUCK, 11),
    "repeated acknowledgement not answered": Variant(of_child(nothing_down, _ACK_AGAIN), STUCK, 23),
    "acknowledgement of the use before dropped": Variant(
        of_child(nothing_down, _BEFORE), STUCK, 26
    ),
    "full activation not kept": Variant(of_parent(not_kept, Verdict.FULL), STUCK, 1),
    "parent's word not kept": Variant(of_parent(not_kept, Verdict.FREED), STUCK, 1),
    "parent's packets of any use": Variant(Rules(parent=of_any_use), WRONG_SUM, 31),
    "full activation by any port": Variant(Rules(child=by_any_port), WRONG_SUM, 6),
}

HARMLESS = {
    # The workers' repetitions do the same, later.
    "sum goes up when it is asked for again": of_child(nothing_up, _ADDED),
    "acknowledgement goes up when it comes again": of_child(nothing_up, _ACKED),
    "full activation when it is asked for again": of_parent(nothing_down, Verdict.FULL),
    "parent's word when it is asked for again": of_parent(nothing_down, Verdict.FREED),
    # Never happens: nobody acknowledges what nobody has sent, nor does the parent answer it.
    "acknowledgement before the full activation": of_child(counted, Verdict.PREMATURE_ACK),
    "parent answers what has not gone up": of_parent(taken, Verdict.UNASKED),
    # It is the same once more.
    "parent's packets taken again": of_parent(taken, Verdict.REPEATED),
}
