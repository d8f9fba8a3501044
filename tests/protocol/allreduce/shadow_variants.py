"""Has SwitchML's printed rule, and our rule of shadow copies with a clause altered."""

from dataclasses import dataclass
from typing import Any

from sim.golden.reduction.allreduce import Outcome, Packet, Verdict, saturated, worker_rule
from sim.golden.reduction.shadow import ShadowSlot, shadow_rule, shadow_worker_rule
from tests.protocol.allreduce import nodes
from tests.protocol.allreduce.nodes import LANES, Rules
from tests.protocol.variants import variants

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


#: What goes wrong within the bound, with w = 3.
UNSOUND = variants(
    nodes,
    r"""
    partial added again; root; complete = copy.agg_bm == everyone =>
        complete = copy.agg_bm == everyone
        \n        agg = tuple(a + b for a, b in zip(copy.agg, packet.payload, strict=True))
        \n        slot = slot.changed(replace(copy, agg=agg)); PARTIAL_AS_FULL
    answer before all are in; root;
        full = full_activation(copy, everyone) if copy.agg_bm == everyone else None =>
        full = full_activation(copy, packet.bm); PARTIAL_AS_FULL
    repetition answered before all are in; root; full if complete else pending(packet) => full;
        PARTIAL_AS_FULL
    repetition not answered; root; full if complete else pending(packet) => None; STUCK
    repetition pending for ever; root; full if complete else pending(packet) => pending(packet);
        STUCK
    sum cleared when sent; root; return Outcome(slot.changed(copy), Verdict.ADDED, full) =>
        copy = replace(copy, agg=(0,) * len(copy.agg)) if full else copy
        \n    return Outcome(slot.changed(copy), Verdict.ADDED, full); PARTIAL_AS_FULL
    new use without waiting; root; elif copy.agg_bm != everyone: => elif False:; WRONG_SUM
    stale partial begins a use; root; return Outcome(slot, Verdict.STALE) =>
        copy = SumCopy(packet.use, packet.payload, packet.bm); WRONG_SUM
    one copy; root; copy = slot.copy_of(packet.use) => copy = slot.newest; root;
        uses != 2: => uses != 1:; STUCK
    full activation of any use; worker; if packet.use != slot.use: =>
        if packet.use != slot.use and not packet.is_agg:; WRONG_SUM
    pending taken for a sum; worker; if packet.pending: => if False:; WRONG_SUM
    sum does not free; worker;
        (replace(after, phase=Phase.FREE) if verdict is Verdict.FULL else after) => after; STUCK
    """,
    base=shadow(),
    worker=worker_rule,
)

HARMLESS = variants(
    nodes,
    """
    early partial pending; root; Verdict.EARLY) => Verdict.EARLY, pending(packet))
    stale packets pending; root; Verdict.STALE) => Verdict.STALE, pending(packet))
    """,
    base=shadow(),
)
