"""The specification of P4SGD's AllReduce: what switch and workers do with each packet.

Section 3.3, algorithms 2 and 3, with the use of a slot numbered modulo `uses`, so that packets may
be dropped, duplicated and reordered. The rule is safe and live if no packet of use n - (uses - 1)
is delivered after use n has finished. States are immutable, so that they can be explored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

import numpy as np

USES = 256  # of the hardware: eight bits on the wire
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1


class Verdict(StrEnum):
    """What became of a packet; both ends count by these."""

    ADDED = "added"  # switch: a partial activation that was not in the sum yet
    REPEATED_PARTIAL = "repeated partial"  # switch: one that was; answered, be it with pending
    ACKNOWLEDGED = "acknowledged"  # switch: a new acknowledgement of a complete sum
    REPEATED_ACK = "repeated ack"  # switch: an old one; answered, be it with pending
    PREVIOUS_ACK = "previous ack"  # switch: of the use before, answered
    EARLY = "early"  # switch: a partial activation of the next use, before all have acknowledged
    PREMATURE_ACK = "premature ack"  # switch: of a sum that is not complete
    FULL = "full"  # worker: the full activation it waits for
    FREED = "freed"  # worker: the confirmation it waits for
    PENDING = "pending"  # worker: the switch has what it sent, and waits for other workers
    REPEATED = "repeated"  # worker: of the slot's use, but not what it waits for
    UNASKED = "unasked"  # switch: its parent answers what has not gone up
    STALE = "stale"  # of another use
    WRONG_SLOT = "wrong slot"  # outside the job's range
    WRONG_RUN = "wrong run"  # of an earlier run of the job
    WRONG_WAY = "wrong way"  # switch: a child answers, or its parent asks
    WRONG_WORKER = "wrong worker"  # not the bit of the port it came by, or not for this worker
    WRONG_JOB = "wrong job"  # of no active job, or not one of this port
    MALFORMED = "malformed"  # not 60 bytes, or with bits set that are zero
    FOREIGN = "foreign"  # another destination, ethertype or version
    CORRUPT = "corrupt"  # its checksum is wrong


@dataclass(frozen=True)
class Packet:
    """The fields of a packet that the rule looks at."""

    is_agg: bool  # partial or full activation, else acknowledgement
    bm: int  # the sending worker's bit; from the switch, the workers it is for
    use: int
    acked: bool = False  # from the switch: every worker has acknowledged
    payload: tuple[int, ...] = ()
    saturated: int = 0  # a bit for each lane of a full activation whose sum was clamped

    @property
    def pending(self) -> bool:
        """From the switch: it has the packet, and waits for other workers."""
        return self.is_agg and self.acked


@dataclass(frozen=True)
class SwitchSlot:
    """What the switch keeps of a slot."""

    use: int
    agg: tuple[int, ...]  # exact sum
    agg_bm: int  # workers that are in it
    ack_bm: int  # workers that have acknowledged it

    @classmethod
    def at_start(cls, everyone: int, lanes: int, uses: int = USES) -> "SwitchSlot":
        """As a job's start leaves it: use -1, finished."""
        return cls(uses - 1, (0,) * lanes, everyone, everyone)


@dataclass(frozen=True)
class Outcome:
    """What the switch does with a packet."""

    slot: SwitchSlot
    verdict: Verdict
    answer: Packet | None = None  # goes to the workers in its bm


def saturated(values: Sequence[int]) -> tuple[int, ...]:
    """Each value clamped to 32 signed bits: once, on the way out."""
    return tuple(int(value) for value in np.clip(values, LOWEST, HIGHEST))


def full_activation(slot: SwitchSlot, bm: int) -> Packet:
    """The sum of a slot for the workers in `bm`; it says which of its lanes were clamped.

    So each worker counts a clamped sum with the packet that it takes, once in every use, however
    often the packet is sent.
    """
    payload = saturated(slot.agg)
    pairs = zip(slot.agg, payload, strict=True)
    clamped = sum((exact != value) << k for k, (exact, value) in enumerate(pairs))
    return Packet(True, bm, slot.use, payload=payload, saturated=clamped)


def pending(packet: Packet) -> Packet:
    """The answer to what is repeated before it is complete."""
    return Packet(True, packet.bm, packet.use, acked=True)


def switch_rule(slot: SwitchSlot, packet: Packet, everyone: int, uses: int = USES) -> Outcome:
    """Algorithm 2, corrected: `packet` comes from the worker in its bm, a worker of `everyone`.

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
    """The part for partial activations."""
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
    """What a worker waits for in a slot."""

    FREE = 0  # nothing: it may start the next use
    PARTIAL = 1  # has sent its partial activation, waits for the full one
    ACK = 2  # has acknowledged, waits for all to have


@dataclass(frozen=True)
class WorkerSlot:
    """What a worker keeps of a slot."""

    use: int
    phase: Phase

    @classmethod
    def at_start(cls, uses: int = USES) -> "WorkerSlot":
        """As a job's start leaves it."""
        return cls(uses - 1, Phase.FREE)


def worker_starts(slot: WorkerSlot, uses: int = USES) -> WorkerSlot:
    """Algorithm 3: a free slot takes the next use; its partial activation is sent."""
    assert slot.phase is Phase.FREE
    return WorkerSlot((slot.use + 1) % uses, Phase.PARTIAL)


def worker_rule(slot: WorkerSlot, packet: Packet) -> tuple[WorkerSlot, Verdict]:
    """Algorithm 3, what comes in: FULL is handed on and acknowledged, FREED frees the slot.

    What the worker waits for it asks for again, at any time: the partial activation in phase
    PARTIAL, the acknowledgement in phase ACK. How often it does is the matter of `sends_again`.
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
    """Why a worker asks no more."""

    NETWORK = "network"  # the switch does not answer
    PEERS = "peers"  # it does, but other workers have not sent what it waits for


@dataclass(frozen=True)
class Tries:
    """How often a worker has asked for what it waits for in a slot again."""

    unanswered: int = 0  # in a row, up to now
    repetitions: int = 0  # in all; it stops at the bound
    heard: bool = False  # PENDING since the packet was last sent

    def __post_init__(self) -> None:
        assert min(self.unanswered, self.repetitions) >= 0


def sends_again(tries: Tries, retries: int, peer_retries: int) -> Tries | GaveUp:
    """Algorithm 3, line 34, with an end: the timer of a packet that was sent has run out.

    A switch is gone that has not answered the packet and `retries` repetitions in a row. Peers are
    given up when the switch answers pending after `peer_retries` repetitions. Bounds of 0 are none.
    """
    unanswered = 0 if tries.heard else tries.unanswered
    if retries and unanswered == retries:
        return GaveUp.NETWORK
    if peer_retries and tries.heard and tries.repetitions == peer_retries:
        return GaveUp.PEERS
    return Tries(unanswered + 1, min(tries.repetitions + 1, peer_retries))
