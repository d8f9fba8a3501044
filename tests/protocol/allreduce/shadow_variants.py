"""Has SwitchML's printed rule, and our rule of shadow copies with a clause altered."""

from dataclasses import dataclass, replace
from typing import Any

from sim.golden.reduction.allreduce import Outcome, Packet, Verdict, pending, saturated, worker_rule
from sim.golden.reduction.shadow import ShadowSlot, SumCopy, shadow_rule, shadow_worker_rule
from tests.protocol.allreduce.nodes import (
    LANES,
    PARTIAL_AS_FULL,
    WRONG_SUM,
    Rules,
)
from tests.protocol.explore import STUCK
from tests.protocol.variants import Variant, altered

NOTHING = (0,) * LANES


@dataclass(frozen=True)
class PrintedSlot:
    """Holds what SwitchML's algorithm 3 keeps of a slot: everything once for each version."""

    everyone: int
    pool: tuple[tuple[int, ...], tuple[int, ...]] = (NOTHING, NOTHING)
    count: tuple[int, int] = (0, 0)
    seen: tuple[int, int] = (0, 0)
    use: int = 1  # version that was begun last, for the checker only

    @property
    def ack_bm(self) -> int:
        """Return everyone if the sum of that version is complete."""
        return 0 if self.count[self.use] else self.everyone


def exchanged(pair: tuple, place: int, item: Any) -> tuple:
    """Return a pair with another item in one place."""
    return (item, pair[1]) if place == 0 else (pair[0], item)


def printed_switch(slot: PrintedSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
    """Run algorithm 3: packets have a version of one bit, which is the use modulo 2."""
    version, count = packet.use, slot.count[packet.use]
    if slot.seen[version] & packet.bm:
        verdict, answer = Verdict.REPEATED_PARTIAL, packet.bm
    else:
        verdict, answer = Verdict.ADDED, everyone
        seen = exchanged(slot.seen, version, slot.seen[version] | packet.bm)
        seen = exchanged(seen, 1 - version, seen[1 - version] & ~packet.bm)
        stored = slot.pool[version] if count else NOTHING
        total = tuple(a + b for a, b in zip(stored, packet.payload, strict=True))
        begun = slot.use if count else version
        count = (count + 1) % everyone.bit_count()
        counts = exchanged(slot.count, version, count)
        slot = PrintedSlot(everyone, exchanged(slot.pool, version, total), counts, seen, begun)
    full = Packet(True, answer, packet.use, payload=saturated(slot.pool[version]))
    return Outcome(slot, verdict, None if count else full)


PRINTED = Rules(
    slot=lambda everyone, uses: PrintedSlot(everyone),
    root=printed_switch,
    worker=shadow_worker_rule,
)


def shadow(root: Any = shadow_rule, worker: Any = shadow_worker_rule, **rules: Any) -> Rules:
    """Return our rule of shadow copies, but for what is given."""
    start = {"slot": lambda everyone, uses: ShadowSlot.at_start(everyone, LANES, uses)}
    return Rules(**start | {"root": root, "worker": worker} | rules)


def where(change: Any, *verdicts: Verdict) -> Rules:
    """Return our rule, except that at one of the switch's `verdicts`, `change` decides."""
    return shadow(altered(shadow_rule, change, *verdicts))


def added(outcome: Outcome, slot: ShadowSlot, packet: Packet, *_: int) -> Outcome:
    """A partial activation is added once more."""
    copy = outcome.slot.copy_of(packet.use)
    agg = tuple(a + b for a, b in zip(copy.agg, packet.payload, strict=True))
    return replace(outcome, slot=outcome.slot.changed(replace(copy, agg=agg)))


def begun(outcome: Outcome, slot: ShadowSlot, packet: Packet, *_: int) -> Outcome:
    """A packet begins a use."""
    copy = SumCopy(packet.use, packet.payload, packet.bm)
    return Outcome(slot.changed(copy), Verdict.ADDED)


def answered(outcome: Outcome, slot: ShadowSlot, packet: Packet, *_: int) -> Outcome:
    """The switch answers with what the copy holds, complete or not."""
    payload = saturated(outcome.slot.copy_of(packet.use).agg)
    return replace(outcome, answer=Packet(True, packet.bm, packet.use, payload=payload))


def unanswered(outcome: Outcome, *_: Any) -> Outcome:
    """The switch gives no answer."""
    return replace(outcome, answer=None)


def waits(outcome: Outcome, slot: ShadowSlot, packet: Packet, *_: int) -> Outcome:
    """The switch answers pending, complete or not."""
    return replace(outcome, answer=pending(packet))


def cleared(outcome: Outcome, slot: ShadowSlot, packet: Packet, *_: int) -> Outcome:
    """The sum is cleared once everyone is answered."""
    if outcome.answer is None:
        return outcome
    copy = replace(outcome.slot.copy_of(packet.use), agg=NOTHING)
    return replace(outcome, slot=outcome.slot.changed(copy))


def one_copy(slot: ShadowSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
    """All uses have the same copy, so that the next use overwrites a sum that is not with all."""
    copy = slot.newest
    if (packet.use - copy.use) % uses == 1 and copy.agg_bm == everyone:
        return begun(Outcome(slot, Verdict.ADDED), slot, packet)
    if packet.use != copy.use:
        return Outcome(slot, Verdict.STALE)
    return shadow_rule(slot, packet, everyone, uses)


def full_of_any_use(slot: Any, packet: Packet) -> tuple[Any, Verdict]:
    """A worker that waits for a full activation takes any."""
    return shadow_worker_rule(slot, replace(packet, use=slot.use) if packet.is_agg else packet)


def pending_as_full(slot: Any, packet: Packet) -> tuple[Any, Verdict]:
    """A worker looks at is_agg alone."""
    return shadow_worker_rule(slot, replace(packet, acked=False))


#: What goes wrong within the bound, with w = 3.
UNSOUND = {
    "partial added again": Variant(where(added, Verdict.REPEATED_PARTIAL), PARTIAL_AS_FULL),
    "answer before all are in": Variant(where(answered, Verdict.ADDED), PARTIAL_AS_FULL),
    "repetition answered before all are in": Variant(
        where(answered, Verdict.REPEATED_PARTIAL), PARTIAL_AS_FULL
    ),
    "repetition not answered": Variant(where(unanswered, Verdict.REPEATED_PARTIAL), STUCK),
    "repetition pending for ever": Variant(where(waits, Verdict.REPEATED_PARTIAL), STUCK),
    "sum cleared when sent": Variant(where(cleared, Verdict.ADDED), PARTIAL_AS_FULL),
    "new use without waiting": Variant(where(begun, Verdict.EARLY), WRONG_SUM),
    "stale partial begins a use": Variant(where(begun, Verdict.STALE), WRONG_SUM),
    "one copy": Variant(shadow(one_copy), STUCK),
    "full activation of any use": Variant(shadow(worker=full_of_any_use), WRONG_SUM),
    "pending taken for a sum": Variant(shadow(worker=pending_as_full), WRONG_SUM),
    "sum does not free": Variant(shadow(worker=worker_rule), STUCK),
}

HARMLESS = {
    "early partial pending": where(waits, Verdict.EARLY),
    "stale packets pending": where(waits, Verdict.STALE),
}
