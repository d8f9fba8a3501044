"""Models a switch that reduces as a whole, frame by frame: bytes in at a port, bytes out at ports.

The rule of a slot is :func:`sim.golden.reduction.allreduce.switch_rule`, or that of shadow copies,
:func:`sim.golden.reduction.shadow.shadow_rule`; here are the jobs, the order in which a packet is
judged, and where answers go.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from sim.golden.job_table import JobRange, JobTable, Refusal, Stranger
from sim.golden.reduction.allreduce import SwitchSlot, Verdict, switch_rule
from sim.golden.reduction.frames import LANES, Quality, WireFrame, judge
from sim.golden.reduction.shadow import ShadowSlot, shadow_rule


@dataclass(kw_only=True)
class Job(JobRange):
    """Holds an active job; its slots are as its start left them unless they are listed."""

    slots: dict[int, Any] = field(default_factory=dict)
    shadow: bool = False  # whether slots have shadow copies of their sums

    def slot(self, seq: int) -> Any:
        """Return the state of a slot."""
        kind = ShadowSlot if self.shadow else SwitchSlot
        return self.slots.get(seq) or kind.at_start(self.ports, LANES)


@dataclass
class SwitchModel:
    """Models a switch; worker i of a job is behind port i."""

    ports: int
    slots: int
    jobs: int
    address: bytes  #: the switch's own address
    group: bytes  #: destination of answers
    shadow: bool = False  #: whether slots have shadow copies of their sums, as in SwitchML
    counters: Counter[tuple[int, StrEnum]] = field(default_factory=Counter)
    saturations: int = 0  #: lanes of a complete sum that were clamped, each once

    ending: ClassVar[Any] = ()  #: jobs that stop by themselves, in which cycle is open

    def __post_init__(self) -> None:
        self.table: JobTable[Job] = JobTable(self.ports, self.slots, self.jobs)

    @property
    def active(self) -> dict[int, Job]:
        """Return the active jobs, by their numbers."""
        return self.table.active

    def start_job(
        self, number: int, *, ports: int, epoch: int, base: int, count: int
    ) -> Refusal | None:
        """Start a job, or return why it is refused."""
        job = Job(ports=ports, epoch=epoch, base=base, count=count, shadow=self.shadow)
        return self.table.start(number, job)

    def stop_job(self, number: int) -> None:
        """Take no more packets of a job."""
        self.table.stop(number)

    def takes_turn(self, data: bytes, *, corrupt: bool) -> bool:
        """Return whether a frame waits for its turn, in which the switch takes it."""
        return True

    def take(self, port: int, data: bytes, *, corrupt: bool = False) -> list[tuple[int, bytes]]:
        """Take a frame that comes in at ``port``; return the ports and frames of its answers."""
        refused = self.judge(port, data, corrupt)
        if refused is not None:
            self.counters[port, refused] += 1
            return []
        frame = WireFrame.from_bytes(data)
        job = self.active[frame.job]
        rule = shadow_rule if self.shadow else switch_rule
        outcome = rule(job.slot(frame.seq), frame.packet, job.ports)
        job.slots[frame.seq] = outcome.slot
        self.counters[port, outcome.verdict] += 1
        if outcome.answer is None:
            return []
        if outcome.verdict is Verdict.ADDED:
            self.saturations += outcome.answer.saturated.bit_count()
        answer = WireFrame(
            destination=self.group,
            source=self.address,
            is_agg=outcome.answer.is_agg,
            acked=outcome.answer.acked,
            bm=outcome.answer.bm,
            job=frame.job,
            epoch=frame.epoch,
            seq=frame.seq,
            use=outcome.answer.use,
            payload=outcome.answer.payload or (0,) * LANES,
            saturated=outcome.answer.saturated,
        ).to_bytes()
        return [(k, answer) for k in range(self.ports) if outcome.answer.bm >> k & 1]

    def judge(self, port: int, data: bytes, corrupt: bool) -> StrEnum | None:
        """Return why a frame does not come to a slot; None if it does."""
        quality = judge(data, corrupt, self.address)
        if quality is not Quality.GOOD:
            return Verdict(quality.value)
        frame = WireFrame.from_bytes(data)
        if frame.acked or frame.saturated:  # only a switch says so
            return Verdict.MALFORMED
        return self.judge_job(port, frame)

    def judge_job(self, port: int, frame: Any) -> StrEnum | None:
        """Return why a frame belongs to no slot of a job that is active; None if it does."""
        job = self.table.judge(port, number=frame.job, bm=frame.bm, epoch=frame.epoch)
        if isinstance(job, Stranger):
            return Verdict(job.value)
        return None if frame.seq in job.places else Verdict.WRONG_SLOT
