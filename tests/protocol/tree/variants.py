"""Alters one clause of the rule of a switch with a parent."""

from collections.abc import Callable
from dataclasses import replace

from sim.p4sgd.golden.allreduce import Packet, Verdict
from sim.p4sgd.golden.tree_rule import (
    TreeOutcome,
    TreeSlot,
    child_rule,
    parent_rule,
    upward,
)
from tests.protocol.tree.nodes import Rules

# The slot before, the packet, the bitmap of everyone, what the specification does: what is done.
Change = Callable[[TreeSlot, Packet, int, TreeOutcome], TreeOutcome]


def of_child(*verdicts: Verdict, change: Change) -> Rules:
    """Return the specification, except that at one of `verdicts` on a child, `change` decides."""

    def child(slot: TreeSlot, packet: Packet, everyone: int, uses: int) -> TreeOutcome:
        outcome = child_rule(slot, packet, everyone, uses)
        changed = outcome.verdict in verdicts
        return change(slot, packet, everyone, outcome) if changed else outcome

    return Rules(child=child)


def of_parent(*verdicts: Verdict, change: Change) -> Rules:
    """Return the same for the parent's packets."""

    def parent(slot: TreeSlot, packet: Packet, everyone: int) -> TreeOutcome:
        outcome = parent_rule(slot, packet, everyone)
        changed = outcome.verdict in verdicts
        return change(slot, packet, everyone, outcome) if changed else outcome

    return Rules(parent=parent)


def nothing_up(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """The switch sends nothing up."""
    return replace(outcome, up=None)


def nothing_down(
    slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome
) -> TreeOutcome:
    """The switch sends nothing down."""
    return replace(outcome, down=None)


def own_sum(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """The children get the sum of this subtree as if it were everyone's."""
    if outcome.up is None or not packet.is_agg:
        return outcome
    return replace(outcome, down=replace(outcome.up, bm=everyone))


def own_word(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """The children are freed when all of them have acknowledged, whatever the parent says."""
    if outcome.up is None or packet.is_agg:
        return outcome
    return replace(outcome, down=Packet(False, everyone, packet.use, acked=True))


def incomplete(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """The switch sends up what has come so far."""
    return replace(outcome, up=upward(outcome.slot))


def begins(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """The next use begins though the parent has not said that this one has finished."""
    own = replace(slot.own, ack_bm=everyone)
    return child_rule(TreeSlot(own, slot.full, True), packet, everyone)


def old_sum(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """A new use begins with the full activation of the one before."""
    if outcome.slot.own.use == slot.own.use or slot.full is None:
        return outcome
    kept = replace(slot.full, use=packet.use)
    return replace(outcome, slot=replace(outcome.slot, full=kept))


def old_word(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """A new use begins as finished as the one before was."""
    return replace(outcome, slot=replace(outcome.slot, finished=slot.finished))


def not_kept(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """What the parent says is passed on and not kept."""
    return replace(outcome, slot=slot)


def counted(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
    """An acknowledgement counts before the full activation is there."""
    own = replace(slot.own, ack_bm=slot.own.ack_bm | packet.bm)
    return replace(outcome, slot=replace(slot, own=own))


def taken(slot: TreeSlot, packet: Packet, everyone: int, outcome: TreeOutcome) -> TreeOutcome:
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


UNSOUND = {
    "own sum goes down": of_child(Verdict.ADDED, change=own_sum),
    "own sum answers repetitions": of_child(Verdict.REPEATED_PARTIAL, change=own_sum),
    "own word goes down": of_child(Verdict.ACKNOWLEDGED, change=own_word),
    "own word answers repetitions": of_child(Verdict.REPEATED_ACK, change=own_word),
    "incomplete sum goes up": of_child(Verdict.ADDED, change=incomplete),
    "incomplete acknowledgement goes up": of_child(Verdict.ACKNOWLEDGED, change=incomplete),
    "next use before the parent's word": of_child(Verdict.EARLY, change=begins),
    "full activation of the use before kept": of_child(Verdict.ADDED, change=old_sum),
    "word of the use before kept": of_child(Verdict.ADDED, change=old_word),
    "sum not sent up again": of_child(Verdict.REPEATED_PARTIAL, change=nothing_up),
    "acknowledgement not sent up again": of_child(Verdict.REPEATED_ACK, change=nothing_up),
    "repeated partial not answered": of_child(Verdict.REPEATED_PARTIAL, change=nothing_down),
    "repeated acknowledgement not answered": of_child(Verdict.REPEATED_ACK, change=nothing_down),
    "acknowledgement of the use before dropped": of_child(
        Verdict.PREVIOUS_ACK, change=nothing_down
    ),
    "full activation not kept": of_parent(Verdict.FULL, change=not_kept),
    "parent's word not kept": of_parent(Verdict.FREED, change=not_kept),
    "parent's packets of any use": Rules(parent=of_any_use),
    "full activation by any port": Rules(child=by_any_port),
}

HARMLESS = {
    # The workers' repetitions do the same, later.
    "sum goes up when it is asked for again": of_child(Verdict.ADDED, change=nothing_up),
    "acknowledgement goes up when it comes again": of_child(
        Verdict.ACKNOWLEDGED, change=nothing_up
    ),
    "full activation when it is asked for again": of_parent(Verdict.FULL, change=nothing_down),
    "parent's word when it is asked for again": of_parent(Verdict.FREED, change=nothing_down),
    # Never happens: nobody acknowledges what nobody has sent, nor does the parent answer it.
    "acknowledgement before the full activation": of_child(Verdict.PREMATURE_ACK, change=counted),
    "parent answers what has not gone up": of_parent(Verdict.UNASKED, change=taken),
    # It is the same once more.
    "parent's packets taken again": of_parent(Verdict.REPEATED, change=taken),
}
