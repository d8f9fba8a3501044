"""Models P4SGD's switch with jobs that are tenants: commands, and whose packets it takes."""

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sim.golden.reduction.allreduce import Verdict, switch_rule
from sim.golden.reduction.frames import WireFrame
from sim.golden.reduction.switch_model import Job, SwitchModel
from sim.golden.tenancy import (
    EPOCHS,
    Command,
    Refused,
    Sizes,
    State,
    Tenant,
    Tenants,
    Unit,
    at_start,
    drained,
    packet_rule,
    tenancy_rule,
)
from sim.golden.tenancy_frames import requested_from, to_bytes

#: Names the verdicts on packets that a switch without tenants would take.
UNGRANTED = (Refused.NOT_GRANTED, Refused.DRAINING)


class Control(StrEnum):
    """Says what becomes of a command that comes in by a port."""

    COMMANDS = "commands"  # it is taken, and answered once
    LOST_COMMANDS = "lost commands"  # the one before has not been answered
    CLOSED_COMMANDS = "closed commands"  # the port takes none


@dataclass
class TenantSwitchModel(SwitchModel):
    """Models a switch granted to jobs, by frames: :func:`sim.golden.tenancy.tenancy_rule`."""

    open_ports: int = 0  #: ports that take commands
    by_job: Counter[tuple[int, StrEnum]] = field(default_factory=Counter)
    operations: Counter[int] = field(default_factory=Counter)  #: uses that all have acknowledged
    control: Counter[tuple[int, Control]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sizes = Sizes(ports=self.ports, slots=self.slots, jobs=self.jobs)
        self.tenants: Tenants = at_start(self.sizes)

    def share(self, *, most: int, apart: bool) -> None:
        """Let at most ``most`` jobs hold the switch at a time, or any whose ports are ``apart``."""
        unit = Unit.PORT if apart else Unit.SWITCH
        self.sizes = replace(self.sizes, most=most, unit=unit)

    @property
    def holders(self) -> dict[int, Tenant]:
        """Return the jobs that hold the switch, by their numbers."""
        pairs = enumerate(self.tenants)
        return {k: item for k, item in pairs if item is not None and item.holds}

    @property
    def ending(self) -> set[int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return the jobs whose grants end, as they drain and have nothing under way."""
        drain = {k for k, item in self.holders.items() if item.state is State.DRAINING}
        return {k for k in drain if not self.unfinished(k)}

    def command(self, command: Command) -> Command:
        """Carry a command out, whichever way it comes; return the answer."""
        finished = not self.unfinished(command.job)
        outcome = tenancy_rule(self.sizes, self.tenants, command, finished)
        self.tenants = outcome.tenants
        if outcome.cleared is not None:
            item = self.tenants[outcome.cleared]
            assert item is not None
            self.active[outcome.cleared] = self.job_of(item)
        self.forget()
        return outcome.answer

    def job_of(self, item: Tenant) -> Job:
        """Return the job of a tenant that is granted the switch."""
        return Job(ports=item.ports, epoch=item.epoch % EPOCHS, base=item.base, count=item.count)

    def settle(self) -> None:
        """End the grants of jobs that drain and have nothing under way."""
        for number in self.holders:
            if not self.unfinished(number):
                self.tenants = drained(self.tenants, number)
        self.forget()

    def forget(self) -> None:
        """Forget what jobs without a grant have left in their slots."""
        for number in self.active.keys() - self.holders.keys():
            del self.active[number]

    def unfinished(self, number: int) -> int:
        """Return how many uses of a job's slots have begun and not ended."""
        job = self.active.get(number)
        return 0 if job is None else sum(slot.ack_bm != job.ports for slot in job.slots.values())

    def takes_turn(self, data: bytes, *, corrupt: bool) -> bool:
        """Return whether a frame is a packet, as commands are taken beside them."""
        return corrupt or requested_from(data, self.address) is None

    def take(self, port: int, data: bytes, *, corrupt: bool = False) -> list[tuple[int, bytes]]:
        """Take a frame that comes in at ``port``; return the ports and frames of its answers."""
        requested = None if corrupt else requested_from(data, self.address)
        if requested is None:
            return self.take_packet(port, data, corrupt)
        if not self.open_ports >> port & 1:
            self.control[port, Control.CLOSED_COMMANDS] += 1
            return []
        self.control[port, Control.COMMANDS] += 1
        answer = self.command(requested.command)
        return [(port, to_bytes(answer, destination=requested.source, source=self.address))]

    def take_packet(self, port: int, data: bytes, corrupt: bool) -> list[tuple[int, bytes]]:
        """Take a frame that is no command; return the ports and frames of its answers."""
        before = Counter(self.counters)
        refused = self.judge(port, data, corrupt)
        if refused is None and self.begins(WireFrame.from_bytes(data)):
            self.counters[port, Refused.DRAINING] += 1
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
        """Return whether a frame would begin a use of a job that drains."""
        job, tenant = self.active[frame.job], self.holders[frame.job]
        slot = job.slot(frame.seq)
        begins = switch_rule(slot, frame.packet, job.ports).slot.use != slot.use
        return tenant.state is State.DRAINING and begins

    def judge_job(self, port: int, frame: WireFrame) -> StrEnum | None:
        """Return why a frame belongs to no slot of a job that holds the switch; None if it does."""
        result = packet_rule(
            self.tenants, port, job=frame.job, bm=frame.bm, epoch=frame.epoch, slot=frame.seq
        )
        if not isinstance(result, Refused):
            return None
        return result if result in UNGRANTED else Verdict(result.value)
