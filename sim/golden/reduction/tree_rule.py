"""Specifies the rule of a slot in a switch that has a parent (MINA, "RTL", Tree).

The switch is a switch to its children, as `switch_rule` says, and a worker to its parent, as
`worker_rule` says. A packet that would complete a use goes up instead of down, and the result goes
down when the parent's answer has come. A switch has no timer: it sends up again what a child
repeats, so that the workers' repetitions drive every hop. The root has no parent and follows
`switch_rule` alone.

Sums go up exactly; only the root clamps them, once. They have SUM_BITS, which is enough for those
of MAX_WORKERS in the whole tree; larger ones, which no such tree makes, wrap.

The rule is safe and live if on each link no packet of use n - (uses - 1) is delivered after the
link's upper end has finished use n.
"""

from dataclasses import dataclass, replace

from sim.golden.reduction.allreduce import (
    USES,
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Verdict,
    WorkerSlot,
    full_activation,
    pending,
    switch_rule,
    worker_rule,
)
from sim.golden.tree_plan import MAX_WORKERS

SUM_BITS = 32 + (MAX_WORKERS - 1).bit_length()  #: width of a lane on the way up


def in_range(slot: SwitchSlot) -> SwitchSlot:
    """Return the slot with its sums in SUM_BITS, wrapped if they are larger."""
    half = 1 << SUM_BITS - 1
    return replace(slot, agg=tuple((value + half) % (2 * half) - half for value in slot.agg))


@dataclass(frozen=True)
class TreeSlot:
    """Holds what a switch with a parent keeps of a slot."""

    own: SwitchSlot  # what came from the children: the exact sum of this subtree
    full: Packet | None  # the full activation of the whole tree; None until the parent sends it
    finished: bool  # whether the parent has said that everyone has acknowledged it

    @classmethod
    def at_start(cls, everyone: int, lanes: int, uses: int = USES) -> "TreeSlot":
        """Return a slot as a job's start leaves it: use -1, finished, its full activation 0."""
        own = SwitchSlot.at_start(everyone, lanes, uses)
        return cls(own, Packet(True, 0, own.use, payload=own.agg), True)


@dataclass(frozen=True)
class TreeOutcome:
    """Describes what a switch of a tree does with a packet; the root's slot is P4SGD's."""

    slot: TreeSlot | SwitchSlot
    verdict: Verdict
    down: Packet | None = None  # answer to the children in its bm
    up: Packet | None = None  # packet to the parent; whoever sends it sets its bm


def root_rule(slot: SwitchSlot, packet: Packet, everyone: int, uses: int = USES) -> Outcome:
    """Return what the root does with a packet: P4SGD's rule, with sums of SUM_BITS."""
    outcome = switch_rule(slot, packet, everyone, uses)
    after, answer = in_range(outcome.slot), outcome.answer
    if answer is not None and answer.is_agg and not answer.pending:
        answer = full_activation(after, answer.bm)
    return Outcome(after, outcome.verdict, answer)


def child_rule(slot: TreeSlot, packet: Packet, everyone: int, uses: int = USES) -> TreeOutcome:
    """Return what a switch does with a packet of the child in its bm, one of `everyone`.

    Until the parent has answered, nobody may acknowledge the sum, nor may the next use begin. The
    sender of what goes up again is told pending, as it waits for others.
    """
    own = slot.own
    if not packet.is_agg and packet.use == own.use and slot.full is None:
        return TreeOutcome(slot, Verdict.PREMATURE_ACK)
    if packet.is_agg and packet.use == (own.use + 1) % uses and not slot.finished:
        return TreeOutcome(slot, Verdict.EARLY)
    outcome = switch_rule(own, packet, everyone, uses)
    begun = outcome.slot.use != own.use
    full, finished = (None, False) if begun else (slot.full, slot.finished)
    after = TreeSlot(in_range(outcome.slot), full, finished)
    answer = outcome.answer
    if answer is None or answer.pending or outcome.verdict is Verdict.PREVIOUS_ACK:
        return TreeOutcome(after, outcome.verdict, answer)
    if answer.is_agg and full is not None:
        return TreeOutcome(after, outcome.verdict, replace(full, bm=answer.bm))
    if not answer.is_agg and finished:
        return TreeOutcome(after, outcome.verdict, answer)
    again = outcome.verdict in (Verdict.REPEATED_PARTIAL, Verdict.REPEATED_ACK)
    return TreeOutcome(after, outcome.verdict, pending(packet) if again else None, upward(after))


def upward(slot: TreeSlot) -> Packet:
    """Return what goes up of a slot that waits for its parent: the exact sum or acknowledgement."""
    if slot.full is None:
        return Packet(True, 0, slot.own.use, payload=slot.own.agg)
    return Packet(False, 0, slot.own.use)


def parent_rule(slot: TreeSlot, packet: Packet, everyone: int) -> TreeOutcome:
    """Return what a switch does with its parent's packet: it keeps and passes what it waits for."""
    phase, sent = as_worker(slot, everyone)
    verdict = worker_rule(WorkerSlot(slot.own.use, phase), packet)[1]
    if verdict is Verdict.FULL:
        after = replace(slot, full=packet)
        return TreeOutcome(after, verdict, replace(packet, bm=everyone))
    if verdict is Verdict.FREED:
        after = replace(slot, finished=True)
        return TreeOutcome(after, verdict, replace(packet, bm=everyone))
    of_ack = packet.acked and not packet.is_agg
    if verdict is Verdict.REPEATED and not sent[of_ack]:
        verdict = Verdict.UNASKED
    return TreeOutcome(slot, verdict)


def as_worker(slot: TreeSlot, everyone: int) -> tuple[Phase, tuple[bool, bool]]:
    """Return what the slot waits for as a worker, and if its sum and acknowledgement went up."""
    sent = slot.own.agg_bm == everyone, slot.own.ack_bm == everyone
    if sent[0] and slot.full is None:
        return Phase.PARTIAL, sent
    return (Phase.ACK if sent[1] and not slot.finished else Phase.FREE), sent
