"""P4SGD's switch with jobs that are tenants: which packets it takes, whose it counts them."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from sim.golden.tenancy import Refusal, Tenancy
from sim.p4sgd.golden.allreduce import Verdict, switch_rule
from sim.p4sgd.golden.frames import WireFrame
from sim.p4sgd.golden.switch import Job, SwitchModel


class Ungranted(StrEnum):
    """What becomes of a packet that a switch without tenants would take."""

    NOT_GRANTED = "not granted"  # of a job that is registered and does not hold the switch
    DRAINING = "draining"  # it would begin a use of a slot, and its job has been released


@dataclass
class TenantSwitchModel(SwitchModel):
    """A switch that is granted to jobs (:class:`sim.golden.tenancy.Tenancy`), frame by frame."""

    by_job: Counter[tuple[int, StrEnum]] = field(default_factory=Counter)
    operations: Counter[int] = field(default_factory=Counter)  #: uses that everyone has ended

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tenancy = Tenancy(self.ports, self.slots, self.jobs)

    def acquire(self, number: int, epoch: int) -> tuple[Refusal | None, int | None]:
        """Grant the switch to a job, with its slots cleared, or tell why not."""
        refusal, owner = self.tenancy.acquire(number, epoch)
        if refusal is None:
            one = self.tenancy.tenants[number]
            self.active[number] = Job(
                ports=one.ports, epoch=one.epoch, base=one.base, count=one.count
            )
        return refusal, owner

    def give_up(self, number: int) -> None:
        """End a job's grant."""
        self.tenancy.give_up(number)
        self.active.pop(number, None)

    def unfinished(self, number: int) -> int:
        """How many uses of a job's slots have begun and not ended."""
        job = self.active[number]
        return sum(slot.ack_bm != job.ports for slot in job.slots.values())

    def take(self, port: int, data: bytes, *, corrupt: bool = False) -> list[tuple[int, bytes]]:
        """A frame comes in at ``port``; the ports and frames of its answers."""
        before = Counter(self.counters)
        refused = self.judge(port, data, corrupt)
        if refused is None and self.begins(WireFrame.from_bytes(data)):
            self.counters[port, Ungranted.DRAINING] += 1
            answers = []
        else:
            answers = super().take(port, data, corrupt=corrupt)
        ((_, verdict),) = (self.counters - before).keys()
        if verdict not in (Verdict.CORRUPT, Verdict.FOREIGN, Verdict.MALFORMED):
            self.count(WireFrame.from_bytes(data), verdict)
        return answers

    def count(self, frame: WireFrame, verdict: StrEnum) -> None:
        """Count a frame for the job that it names, and a use that it ends."""
        if frame.job < self.jobs:
            self.by_job[frame.job, verdict] += 1
        if verdict is Verdict.ACKNOWLEDGED:
            job = self.active[frame.job]
            self.operations[frame.job] += job.slot(frame.seq).ack_bm == job.ports

    def begins(self, frame: WireFrame) -> bool:
        """Whether a frame would begin a use of a job that drains."""
        job, tenant = self.active[frame.job], self.tenancy.tenants[frame.job]
        slot = job.slot(frame.seq)
        return tenant.draining and switch_rule(slot, frame.packet, job.ports).slot.use != slot.use

    def judge(self, port: int, data: bytes, corrupt: bool) -> StrEnum | None:
        """Why a frame does not come to a slot; None if it does."""
        verdict = super().judge(port, data, corrupt)
        if verdict is not Verdict.WRONG_JOB:
            return verdict
        frame = WireFrame.from_bytes(data)
        tenant = self.tenancy.tenants.get(frame.job)
        if tenant is None or tenant.held or not tenant.ports >> port & 1:
            return verdict
        return Ungranted.NOT_GRANTED if frame.bm == 1 << port else Verdict.WRONG_WORKER
