"""Specifies the wide AllReduce: a use's acknowledgement rides in its slot's next activation.

A worker sends the partial activation of use n + 1 once it has the sum of use n, so this packet says
that it has. A slot keeps two sums, those of its last two uses: the last one may lack workers, the
one before is complete, and is kept for workers that repeat their packet because they miss it. Use
n + 1 begins when the sum of use n is complete: then all have that of use n - 1, which it replaces.
A worker that has no next use acknowledges by a packet of its own, and waits for the confirmation
that all workers have the sum.

The rule is safe and live on links that keep order with one bit for the number of a use, and on
others if no packet of use n - (uses - 1) is delivered after the sum of use n is complete. States
are immutable, so that they can be explored.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sim.golden.reduction.allreduce import (
    USES,
    Outcome,
    Packet,
    Phase,
    Verdict,
    WorkerSlot,
    pending,
)


@dataclass(frozen=True)
class WideSlot:
    """Holds what the switch keeps of a slot."""

    use: int  # the last one that has begun
    agg_bm: int  # workers that are in its sum
    ack_bm: int  # workers that are known to have the sum of the last complete use
    sums: tuple[Any, Any]  # exact sums, of even and of odd uses

    @classmethod
    def at_start(cls, everyone: int, empty: Any, uses: int = USES) -> "WideSlot":
        """Return a slot as a job's start leaves it: use -1, complete, acknowledged by all."""
        return cls(uses - 1, everyone, everyone, (empty, empty))

    def with_sum(self, use: int, value: Any) -> "WideSlot":
        """Return the slot with another sum of a use."""
        return replace(self, sums=(self.sums[0], value) if use & 1 else (value, self.sums[1]))


def added(total: Any, payload: Any) -> Any:
    """Return the exact sum of two activations."""
    return tuple(a + b for a, b in zip(total, payload, strict=True))


def wide_rule(
    slot: WideSlot,
    packet: Packet,
    everyone: int,
    uses: int = USES,
    combined: Callable[[Any, Any], Any] = added,
) -> Outcome:
    """Return what the switch does with `packet` of a worker of `everyone`.

    A sum goes to everyone when it is complete, and again to a worker that repeats its packet; a
    worker that repeats it before is answered pending. So it is with acknowledgements. The payload
    of an answer is exact; `combined` is the operation, and returns None for what does not fit.
    """
    behind, complete = (slot.use - packet.use) % uses, slot.agg_bm == everyone
    if not packet.is_agg:
        return acknowledgement_rule(slot, packet, everyone, behind)
    if complete and behind == uses - 1:
        begun = WideSlot(packet.use, packet.bm, slot.ack_bm | packet.bm, slot.sums)
        return contributed(begun, packet, packet.payload, everyone)
    if behind > 1:
        return Outcome(slot, Verdict.EARLY if behind == uses - 1 else Verdict.STALE)
    total = combined(slot.sums[packet.use & 1], packet.payload)
    if total is None:
        return Outcome(slot, Verdict.DIFFERENT)
    if behind == 1 or slot.agg_bm & packet.bm:
        full = Packet(True, packet.bm, packet.use, payload=slot.sums[packet.use & 1])
        waits = behind == 0 and not complete
        return Outcome(slot, Verdict.REPEATED_PARTIAL, pending(packet) if waits else full)
    both = slot.agg_bm | packet.bm, slot.ack_bm | packet.bm
    return contributed(replace(slot, agg_bm=both[0], ack_bm=both[1]), packet, total, everyone)


def contributed(slot: WideSlot, packet: Packet, total: Any, everyone: int) -> Outcome:
    """Return what follows when a packet has changed a sum: if it is complete, nobody has it yet."""
    slot = slot.with_sum(packet.use, total)
    if slot.agg_bm != everyone:
        return Outcome(slot, Verdict.ADDED)
    full = Packet(True, everyone, packet.use, payload=total)
    return Outcome(replace(slot, ack_bm=0), Verdict.ADDED, full)


def acknowledgement_rule(slot: WideSlot, packet: Packet, everyone: int, behind: int) -> Outcome:
    """Return what the switch does with an acknowledgement of the use that is `behind` uses old."""
    acked = Packet(False, packet.bm, packet.use, acked=True)
    last = 0 if slot.agg_bm == everyone else 1  # how far the last complete use is behind
    if behind == last and slot.ack_bm & packet.bm:
        answer = acked if slot.ack_bm == everyone else pending(packet)
        return Outcome(slot, Verdict.REPEATED_ACK, answer)
    if behind == last:
        slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
        answer = replace(acked, bm=everyone) if slot.ack_bm == everyone else None
        return Outcome(slot, Verdict.ACKNOWLEDGED, answer)
    return Outcome(slot, Verdict.STALE if behind else Verdict.PREMATURE_ACK)


def acknowledges(slot: WorkerSlot) -> WorkerSlot:
    """Return a free slot after its worker has acknowledged its use, as it has no next one."""
    assert slot.phase is Phase.FREE
    return replace(slot, phase=Phase.ACK)
