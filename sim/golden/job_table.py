"""Models the jobs of a switch, whatever its rule: what each has, and which frames are its own."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar


class Refusal(StrEnum):
    """Names why a job is not started; the first reason that applies counts."""

    NO_SUCH_JOB = "no such job"  # the number is too large
    NO_PORTS = "no ports"  # the bitmap is empty
    NO_SUCH_PORT = "no such port"  # the bitmap has ports that the switch has not
    BAD_SLOTS = "bad slots"  # none, or some that the switch has not
    PORTS_TAKEN = "ports taken"  # by another active job
    SLOTS_TAKEN = "slots taken"  # by another active job


class Stranger(StrEnum):
    """Names why a good frame belongs to no job; of the reasons that apply, the last one counts."""

    WRONG_RUN = "wrong run"  # of an earlier run of the job
    WRONG_WORKER = "wrong worker"  # not the bit of the port that it came by
    WRONG_JOB = "wrong job"  # of no active job, or not one of this port


@dataclass(kw_only=True)
class JobRange:
    """Describes an active job: its ports, its run, and its slots of the rule's memory."""

    ports: int
    epoch: int
    base: int
    count: int

    @property
    def places(self) -> range:
        """Return the numbers of the job's slots."""
        return range(self.base, self.base + self.count)


J = TypeVar("J", bound=JobRange)


@dataclass
class JobTable(Generic[J]):
    """Holds the active jobs of a switch with this many ports and slots, and its limit of jobs."""

    ports: int
    slots: int
    jobs: int
    active: dict[int, J] = field(default_factory=dict)

    def start(self, number: int, job: J) -> Refusal | None:
        """Start a job, or return why it is refused."""
        others = [active for other, active in self.active.items() if other != number]
        reasons = {
            Refusal.NO_SUCH_JOB: number >= self.jobs,
            Refusal.NO_PORTS: job.ports == 0,
            Refusal.NO_SUCH_PORT: job.ports >> self.ports != 0,
            Refusal.BAD_SLOTS: job.count == 0 or job.base + job.count > self.slots,
            Refusal.PORTS_TAKEN: any(other.ports & job.ports for other in others),
            Refusal.SLOTS_TAKEN: any(set(job.places) & set(other.places) for other in others),
        }
        for reason, applies in reasons.items():
            if applies:
                return reason
        self.active[number] = job
        return None

    def stop(self, number: int) -> None:
        """Take no more frames of a job."""
        self.active.pop(number, None)

    def judge(self, port: int, *, number: int, bm: int, epoch: int) -> J | Stranger:
        """Return the job of a frame that came by ``port``, or why it has none."""
        job = self.active.get(number)
        if job is None or not job.ports >> port & 1:
            return Stranger.WRONG_JOB
        if bm != 1 << port:
            return Stranger.WRONG_WORKER
        return job if epoch == job.epoch else Stranger.WRONG_RUN
