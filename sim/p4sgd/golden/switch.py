"""P4SGD's switch as a whole, frame by frame: bytes in at a port, bytes out at ports.

The rule of a slot is :func:`sim.p4sgd.golden.allreduce.switch_rule`; here are the jobs, the order
in which a packet is judged, and where answers go.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from sim.p4sgd.golden.allreduce import SwitchSlot, Verdict, switch_rule
from sim.p4sgd.golden.frames import LANES, Quality, WireFrame, judge


class Refusal(StrEnum):
    """Why a job is not started; the first that applies."""

    NO_SUCH_JOB = "no such job"  # the number is too large
    NO_PORTS = "no ports"  # the bitmap is empty
    NO_SUCH_PORT = "no such port"  # the bitmap has ports that the switch has not
    BAD_SLOTS = "bad slots"  # none, or some that the switch has not
    PORTS_TAKEN = "ports taken"  # by another active job
    SLOTS_TAKEN = "slots taken"  # by another active job


@dataclass
class Job:
    """An active job; its slots are as its start left them unless they are listed."""

    ports: int
    epoch: int
    base: int
    count: int
    slots: dict[int, SwitchSlot] = field(default_factory=dict)

    def slot(self, seq: int) -> SwitchSlot:
        """The state of a slot."""
        return self.slots.get(seq) or SwitchSlot.at_start(self.ports, LANES)


@dataclass
class SwitchModel:
    """A switch; worker i of a job is behind port i."""

    ports: int
    slots: int
    jobs: int
    address: bytes  #: own
    group: bytes  #: destination of answers
    active: dict[int, Job] = field(default_factory=dict)
    counters: Counter[tuple[int, Verdict]] = field(default_factory=Counter)
    saturations: int = 0  #: lanes of a complete sum that were clamped, each once

    def start_job(
        self, number: int, *, ports: int, epoch: int, base: int, count: int
    ) -> Refusal | None:
        """Start a job, or tell why not."""
        others = [job for other, job in self.active.items() if other != number]
        reasons = {
            Refusal.NO_SUCH_JOB: number >= self.jobs,
            Refusal.NO_PORTS: ports == 0,
            Refusal.NO_SUCH_PORT: ports >> self.ports != 0,
            Refusal.BAD_SLOTS: count == 0 or base + count > self.slots,
            Refusal.PORTS_TAKEN: any(job.ports & ports for job in others),
            Refusal.SLOTS_TAKEN: any(
                set(range(base, base + count)) & set(range(job.base, job.base + job.count))
                for job in others
            ),
        }
        for reason, applies in reasons.items():
            if applies:
                return reason
        self.active[number] = Job(ports, epoch, base, count)
        return None

    def stop_job(self, number: int) -> None:
        """Take no more packets of a job."""
        self.active.pop(number, None)

    def take(self, port: int, data: bytes, *, corrupt: bool = False) -> list[tuple[int, bytes]]:
        """A frame comes in at ``port``; the ports and frames of its answers."""
        refused = self.judge(port, data, corrupt)
        if refused is not None:
            self.counters[port, refused] += 1
            return []
        frame = WireFrame.from_bytes(data)
        job = self.active[frame.job]
        outcome = switch_rule(job.slot(frame.seq), frame.packet, job.ports)
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

    def judge(self, port: int, data: bytes, corrupt: bool) -> Verdict | None:
        """Why a frame does not come to a slot; None if it does."""
        quality = judge(data, corrupt, self.address)
        if quality is not Quality.GOOD:
            return Verdict(quality.value)
        frame = WireFrame.from_bytes(data)
        if frame.acked or frame.saturated:  # only a switch says so
            return Verdict.MALFORMED
        job = self.active.get(frame.job)
        if job is None or not job.ports >> port & 1:
            return Verdict.WRONG_JOB
        if frame.bm != 1 << port:
            return Verdict.WRONG_WORKER
        if frame.epoch != job.epoch:
            return Verdict.WRONG_RUN
        if not job.base <= frame.seq < job.base + job.count:
            return Verdict.WRONG_SLOT
        return None
