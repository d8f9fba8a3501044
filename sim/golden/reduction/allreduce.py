"""Specifies P4SGD's AllReduce: what switch and workers do with each packet.

Section 3.3, algorithms 2 and 3, with the use of a slot numbered modulo `uses`, so that packets may
be dropped, duplicated and reordered. The rule is safe and live if no packet of use n - (uses - 1)
is delivered after use n has finished. States are immutable, so that they can be explored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any

import numpy as np

USES = 256  # number of uses that the hardware tells apart: eight bits on the wire
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1


class Verdict(StrEnum):
    """Says what became of a packet; both ends count by these."""

    ADDED = "added"  # switch: it is a partial activation that was not in the sum yet
    REPEATED_PARTIAL = "repeated partial"  # switch: it is in the sum; answered, or told pending
    ACKNOWLEDGED = "acknowledged"  # switch: it is a new acknowledgement of a complete sum
    REPEATED_ACK = "repeated ack"  # switch: it came before; answered, or told pending
    PREVIOUS_ACK = "previous ack"  # switch: it acknowledges the use before, and is answered
    EARLY = "early"  # switch: it is a partial activation of the next use, while this one goes on
    PREMATURE_ACK = "premature ack"  # switch: it acknowledges a sum that is not complete
    DIFFERENT = "different"  # its operation or count of numbers is not its use's
    FULL = "full"  # worker: it is the full activation that the slot waits for
    FREED = "freed"  # worker: it is the confirmation that the slot waits for
    PENDING = "pending"  # worker: it says that the switch waits for other workers
    REPEATED = "repeated"  # worker: it is of the slot's use, but not what the slot waits for
    UNASKED = "unasked"  # switch: by it the parent answers what has not gone up
    STALE = "stale"  # it is of another use
    WRONG_SLOT = "wrong slot"  # its slot is outside the job's range
    WRONG_RUN = "wrong run"  # it is of another run of the job
    WRONG_WAY = "wrong way"  # switch: a child answers by it, or the parent asks
    WRONG_WORKER = "wrong worker"  # bm is not the bit of its port, or not that of this worker
    WRONG_JOB = "wrong job"  # its job is not active, or has no worker at this port
    MALFORMED = "malformed"  # it has not 60 bytes, or bits set that must be zero
    FOREIGN = "foreign"  # it has another destination, ethertype or version
    CORRUPT = "corrupt"  # its checksum is wrong


@dataclass(frozen=True)
class Packet:
    """Holds the fields of a packet that the rule looks at."""

    is_agg: bool  # partial or full activation, else acknowledgement
    bm: int  # the sending worker's bit; from the switch, the workers it is for
    use: int
    acked: bool = False  # from the switch: every worker has acknowledged
    payload: Any = ()  # numbers; a tuple of them in P4SGD's frames
    saturated: int = 0  # a bit for each lane of a full activation whose sum was clamped

    @property
    def pending(self) -> bool:
        """Return whether it is the switch's answer that it has the packet and waits for others."""
        return self.is_agg and self.acked


@dataclass(frozen=True)
class SwitchSlot:
    """Holds what the switch keeps of a slot."""

    use: int
    agg: tuple[int, ...]  # exact sum
    agg_bm: int  # workers that are in the sum
    ack_bm: int  # workers that have acknowledged the sum

    @classmethod
    def at_start(cls, everyone: int, lanes: int, uses: int = USES) -> "SwitchSlot":
        """Return a slot as a job's start leaves it: use -1, finished."""
        return cls(uses - 1, (0,) * lanes, everyone, everyone)


@dataclass(frozen=True)
class Outcome:
    """Describes what the switch does with a packet."""

    slot: Any  # a SwitchSlot by algorithm 2
    verdict: Verdict
    answer: Packet | None = None  # answer to the workers in its bm


def saturated(values: Sequence[int]) -> tuple[int, ...]:
    """Clamp each value to 32 signed bits: this is done once, on the way out."""
    return tuple(int(value) for value in np.clip(values, LOWEST, HIGHEST))


def full_activation(slot: Any, bm: int) -> Packet:
    """Return the sum of a slot for the workers in `bm`, with a mark of the lanes that were clamped.

    By that mark each worker counts a clamped sum with the packet that it takes, once in every use,
    however often the packet is sent.
    """
    payload = saturated(slot.agg)
    pairs = zip(slot.agg, payload, strict=True)
    clamped = sum((exact != value) << k for k, (exact, value) in enumerate(pairs))
    return Packet(True, bm, slot.use, payload=payload, saturated=clamped)


def pending(packet: Packet) -> Packet:
    """Return the answer to a repeated packet of an AllReduce that is not complete."""
    return Packet(True, packet.bm, packet.use, acked=True)


def switch_rule(slot: SwitchSlot, packet: Packet, everyone: int, uses: int = USES) -> Outcome:
    """Return what the switch does with `packet` of a worker of `everyone`: algorithm 2, corrected.

    An answer that completes something goes to everyone, one to a repetition to its sender. What
    is repeated before it is complete is answered pending, so that a worker whose peers are late
    can tell them from a switch that is gone.
    """
    behind = (slot.use - packet.use) % uses
    if packet.is_agg:
        return partial_rule(slot, packet, everyone, behind, uses)
    acked = Packet(False, packet.bm, packet.use, acked=True)
    if behind == 1:
        return Outcome(slot, Verdict.PREVIOUS_ACK, acked)
    if behind:
        return Outcome(slot, Verdict.STALE)
    if slot.agg_bm != everyone:
        return Outcome(slot, Verdict.PREMATURE_ACK)
    if slot.ack_bm & packet.bm:
        complete = slot.ack_bm == everyone
        return Outcome(slot, Verdict.REPEATED_ACK, acked if complete else pending(packet))
    slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
    answer = replace(acked, bm=everyone) if slot.ack_bm == everyone else None
    return Outcome(slot, Verdict.ACKNOWLEDGED, answer)


def partial_rule(
    slot: SwitchSlot, packet: Packet, everyone: int, behind: int, uses: int
) -> Outcome:
    """Return what the switch does with a partial activation."""
    if behind == 0 and slot.agg_bm & packet.bm:
        full = full_activation(slot, packet.bm)
        complete = slot.agg_bm == everyone
        return Outcome(slot, Verdict.REPEATED_PARTIAL, full if complete else pending(packet))
    if behind == 0:
        agg = tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))
        slot = replace(slot, agg=agg, agg_bm=slot.agg_bm | packet.bm)
    elif behind != uses - 1:
        return Outcome(slot, Verdict.STALE)
    elif slot.ack_bm != everyone:
        return Outcome(slot, Verdict.EARLY)
    else:
        slot = SwitchSlot(packet.use, packet.payload, packet.bm, 0)
    full = full_activation(slot, everyone)
    return Outcome(slot, Verdict.ADDED, full if slot.agg_bm == everyone else None)


class Phase(Enum):
    """Says what a worker waits for in a slot."""

    FREE = 0  # nothing: it may start the next use
    PARTIAL = 1  # the full activation: it has sent its partial one
    ACK = 2  # the confirmation that all have acknowledged: it has done so


@dataclass(frozen=True)
class WorkerSlot:
    """Holds what a worker keeps of a slot."""

    use: int
    phase: Phase

    @classmethod
    def at_start(cls, uses: int = USES) -> "WorkerSlot":
        """Return a slot as a job's start leaves it."""
        return cls(uses - 1, Phase.FREE)


def worker_starts(slot: WorkerSlot, uses: int = USES) -> WorkerSlot:
    """Return a free slot after it has taken its next use (algorithm 3): its partial is sent."""
    assert slot.phase is Phase.FREE
    return WorkerSlot((slot.use + 1) % uses, Phase.PARTIAL)


def worker_rule(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """Return what a packet makes of a worker's slot (algorithm 3), and the verdict on it.

    FULL is handed on and acknowledged, FREED frees the slot. The worker may send its last packet
    again at any time: the partial activation in phase PARTIAL, the acknowledgement in phase ACK.
    `sends_again` says how often it does.
    """
    if packet.use != slot.use:
        return slot, Verdict.STALE
    if packet.pending:
        return slot, Verdict.REPEATED if slot.phase is Phase.FREE else Verdict.PENDING
    if packet.is_agg and slot.phase is Phase.PARTIAL:
        return replace(slot, phase=Phase.ACK), Verdict.FULL
    if packet.acked and slot.phase is Phase.ACK:
        return replace(slot, phase=Phase.FREE), Verdict.FREED
    return slot, Verdict.REPEATED


class GaveUp(StrEnum):
    """Says why a worker gives up."""

    NETWORK = "network"  # the switch does not answer
    PEERS = "peers"  # the switch answers, but other workers have not sent what it waits for


@dataclass(frozen=True)
class Tries:
    """Counts how often a worker has asked again for what it waits for in a slot."""

    unanswered: int = 0  # repetitions in a row without an answer, up to now
    repetitions: int = 0  # repetitions in all; it stops at the bound
    heard: bool = False  # whether PENDING came since the packet was last sent

    def __post_init__(self) -> None:
        assert min(self.unanswered, self.repetitions) >= 0


def sends_again(tries: Tries, retries: int, peer_retries: int) -> Tries | GaveUp:
    """Return the tries after a timer ran out, or why the worker gives up (algorithm 3, line 34).

    The worker gives up on a switch that has not answered the packet and `retries` repetitions in a
    row, and on its peers if the switch still answers pending after `peer_retries` repetitions. A
    bound of 0 means that there is none.
    """
    unanswered = 0 if tries.heard else tries.unanswered
    if retries and unanswered == retries:
        return GaveUp.NETWORK
    if peer_retries and tries.heard and tries.repetitions == peer_retries:
        return GaveUp.PEERS
    return Tries(unanswered + 1, min(tries.repetitions + 1, peer_retries))
