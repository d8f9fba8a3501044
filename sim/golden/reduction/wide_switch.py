"""Models a switch of the wide AllReduce, frame by frame: bytes in at a port, bytes out at ports."""

from dataclasses import dataclass
from enum import StrEnum

from sim.golden.reduction.allreduce import Verdict
from sim.golden.reduction.frames import ACKED, Quality
from sim.golden.reduction.switch_model import SwitchModel
from sim.golden.reduction.wide_frames import EMPTY, MOST, WideFrame, answered, combined, judge
from sim.golden.reduction.wide_rule import WideSlot, wide_rule


@dataclass
class WideSwitchModel(SwitchModel):
    """Models a switch by :func:`sim.golden.reduction.wide_rule.wide_rule`.

    Worker i of a job is behind port i. ``saturations`` counts numbers of complete sums that were
    clamped, each once.
    """

    most: int = MOST  #: numbers of the longest frame

    def take(self, port: int, data: bytes, *, corrupt: bool = False) -> list[tuple[int, bytes]]:
        """Take a frame that comes in at ``port``; return the ports and frames of its answers."""
        refused = self.judge(port, data, corrupt)
        if refused is not None:
            self.counters[port, refused] += 1
            return []
        frame = WideFrame.from_bytes(data)
        job = self.active[frame.job]
        slot = job.slots.get(frame.seq) or WideSlot.at_start(job.ports, EMPTY)
        outcome = wide_rule(slot, frame.packet, job.ports, combined=combined)
        job.slots[frame.seq], answer = outcome.slot, outcome.answer
        self.counters[port, outcome.verdict] += 1
        if answer is None:
            return []
        wire = answered(frame, answer, self.address, self.group)
        if outcome.verdict is Verdict.ADDED:
            self.saturations += wire.saturated
        return [(k, wire.to_bytes()) for k in range(self.ports) if answer.bm >> k & 1]

    def judge(self, port: int, data: bytes, corrupt: bool) -> StrEnum | None:
        """Return why a frame does not come to a slot; None if it does."""
        quality = judge(data, corrupt, self.address, self.most)
        if quality is not Quality.GOOD:
            return Verdict(quality.value)
        frame = WideFrame.from_bytes(data)
        if frame.flags & ACKED:  # only a switch says so
            return Verdict.MALFORMED
        return self.judge_job(port, frame)
