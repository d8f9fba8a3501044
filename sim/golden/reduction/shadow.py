"""Specifies AllReduce with a shadow copy of each slot's sum, as SwitchML does (NSDI 2021).

Its algorithms 3 and 4, with the use of a slot numbered modulo `uses` in place of a version of one
bit. Even and odd uses have a copy of the sum each. A worker starts a use when it has the sum of the
last one, so a use's first packet says that nobody needs the copy of two uses ago: there are no
acknowledgements. The rule is safe and live on links that keep order, and on others if no packet of
use n - (uses - 2) is delivered after the sum of use n is complete.
"""

from dataclasses import dataclass, replace

from sim.golden.reduction.allreduce import (
    USES,
    Outcome,
    Packet,
    Phase,
    Verdict,
    WorkerSlot,
    full_activation,
    pending,
    worker_rule,
)


@dataclass(frozen=True)
class SumCopy:
    """Holds a copy of a slot's sum."""

    use: int
    agg: tuple[int, ...]  # exact sum
    agg_bm: int  # workers that are in the sum


@dataclass(frozen=True)
class ShadowSlot:
    """Holds what the switch keeps of a slot: the copies of even and of odd uses."""

    even: SumCopy
    odd: SumCopy
    uses: int = USES

    @classmethod
    def at_start(cls, everyone: int, lanes: int, uses: int = USES) -> "ShadowSlot":
        """Return a slot as a job's start leaves it: the sums of uses -2 and -1 are complete."""
        even, odd = (SumCopy(uses - k, (0,) * lanes, everyone) for k in (2, 1))
        return cls(even, odd, uses)

    def copy_of(self, use: int) -> SumCopy:
        """Return the copy that a use has."""
        return self.odd if use & 1 else self.even

    @property
    def newest(self) -> SumCopy:
        """Return the copy of the last use that has begun."""
        return self.odd if (self.odd.use - self.even.use) % self.uses == 1 else self.even

    @property
    def use(self) -> int:
        """Return the last use that has begun."""
        return self.newest.use

    @property
    def agg_bm(self) -> int:
        """Return the workers that are in the sum of the last use."""
        return self.newest.agg_bm

    @property
    def ack_bm(self) -> int:
        """Return the workers whose next packet begins a use: all, if all are in the sum."""
        return self.newest.agg_bm

    def changed(self, copy: SumCopy) -> "ShadowSlot":
        """Return the slot with another copy in its place."""
        return replace(self, **{"odd" if copy.use & 1 else "even": copy})


def shadow_rule(slot: ShadowSlot, packet: Packet, everyone: int, uses: int = USES) -> Outcome:
    """Return what the switch does with `packet` of a worker of `everyone`.

    The sum goes to everyone when it is complete, and again to a worker that repeats its packet;
    who repeats it before is answered pending. A use begins in the copy of two uses ago, if that
    sum is complete. There is nothing to acknowledge.
    """
    if not packet.is_agg:
        return Outcome(slot, Verdict.PREMATURE_ACK)
    copy = slot.copy_of(packet.use)
    if copy.use == packet.use and copy.agg_bm & packet.bm:
        full = full_activation(copy, packet.bm)
        complete = copy.agg_bm == everyone
        return Outcome(slot, Verdict.REPEATED_PARTIAL, full if complete else pending(packet))
    if copy.use == packet.use:
        agg = tuple(a + b for a, b in zip(copy.agg, packet.payload, strict=True))
        copy = SumCopy(copy.use, agg, copy.agg_bm | packet.bm)
    elif (packet.use - copy.use) % uses != 2:
        return Outcome(slot, Verdict.STALE)
    elif copy.agg_bm != everyone:
        return Outcome(slot, Verdict.EARLY)
    else:
        copy = SumCopy(packet.use, packet.payload, packet.bm)
    full = full_activation(copy, everyone) if copy.agg_bm == everyone else None
    return Outcome(slot.changed(copy), Verdict.ADDED, full)


def shadow_worker_rule(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """Return what a packet makes of a worker's slot: the full activation frees it."""
    after, verdict = worker_rule(slot, packet)
    return (replace(after, phase=Phase.FREE) if verdict is Verdict.FULL else after), verdict
