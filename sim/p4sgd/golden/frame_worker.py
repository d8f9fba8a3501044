"""Models a worker's side of AllReduces, frame by frame, by P4SGD's rule of a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sim.golden.reduction.allreduce import (
    Packet,
    Phase,
    Verdict,
    WorkerSlot,
    worker_rule,
    worker_starts,
)
from sim.golden.reduction.frames import LANES, Quality, WireFrame, judge


@dataclass(kw_only=True)
class FrameWorker:
    """Sends ``partials``, one after the other, and keeps their full activations in ``sums``.

    Partial j is in slot ``base`` + j mod ``slots``. The caller delivers what is sent, hands over
    what comes to ``address``, and calls :meth:`repeat` when a timeout is over.
    """

    address: bytes  #: address of the worker: its switch's answers go there
    switch: bytes  #: address of its switch
    port: int  #: number of the switch's port that the worker is at
    job: int
    epoch: int
    base: int
    slots: int
    partials: Sequence[tuple[int, ...]]
    sums: dict[int, tuple[int, ...]] = field(default_factory=dict)
    clamped: dict[int, int] = field(default_factory=dict)  #: clamped lanes of a sum, a bit each
    begun: int = 0  #: number of partials that have been sent

    def __post_init__(self) -> None:
        self.states = [WorkerSlot.at_start() for _ in range(self.slots)]

    @property
    def done(self) -> bool:
        """Return whether all sums have come, and everyone has acknowledged them."""
        free = all(state.phase is Phase.FREE for state in self.states)
        return free and self.begun == len(self.partials)

    def index(self, slot: int) -> int:
        """Return the number of the partial in a slot, which is the last one begun there."""
        return (self.begun - 1 - slot) // self.slots * self.slots + slot

    def begin(self) -> list[bytes]:
        """Return the frames of all partials that may be sent now."""
        frames = []
        while self.begun < len(self.partials):
            slot = self.begun % self.slots
            if self.states[slot].phase is not Phase.FREE:
                break
            self.states[slot] = worker_starts(self.states[slot])
            self.begun += 1
            frames.append(self.frame(slot))
        return frames

    def repeat(self) -> list[bytes]:
        """Return the frames of all that the worker waits for."""
        waiting = [k for k, state in enumerate(self.states) if state.phase is not Phase.FREE]
        return [self.frame(slot) for slot in waiting]

    def frame(self, slot: int) -> bytes:
        """Return the frame that the worker sends as long as it waits in a slot."""
        state = self.states[slot]
        is_agg = state.phase is Phase.PARTIAL
        return WireFrame(
            destination=self.switch,
            source=self.address,
            is_agg=is_agg,
            bm=1 << self.port,
            job=self.job,
            epoch=self.epoch,
            seq=self.base + slot,
            use=state.use,
            payload=self.partials[self.index(slot)] if is_agg else (0,) * LANES,
        ).to_bytes()

    def take(self, data: bytes, *, corrupt: bool = False) -> list[bytes]:
        """Take a frame that comes in; return the frames that the worker sends then."""
        if judge(data, corrupt, self.address) is not Quality.GOOD:
            return []
        frame = WireFrame.from_bytes(data)
        slot = frame.seq - self.base
        own = (frame.job, frame.epoch) == (self.job, self.epoch)
        if not own or not 0 <= slot < self.slots or not frame.bm >> self.port & 1:
            return []
        return self.react(slot, frame.packet)

    def react(self, slot: int, packet: Packet) -> list[bytes]:
        """Take a packet of a slot; return the frames that the worker sends then."""
        self.states[slot], verdict = worker_rule(self.states[slot], packet)
        if verdict is Verdict.FULL:
            self.sums[self.index(slot)] = packet.payload
            self.clamped[self.index(slot)] = packet.saturated
            return [self.frame(slot)]
        return self.begin() if verdict is Verdict.FREED else []
