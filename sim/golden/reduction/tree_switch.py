"""Models P4SGD's switch as one of a tree, frame by frame (MINA, "RTL", Exact across levels)."""

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sim.golden.reduction.allreduce import Packet, SwitchSlot, Verdict
from sim.golden.reduction.frames import LANES, Quality, WireFrame, judge
from sim.golden.reduction.switch_model import Job
from sim.golden.reduction.tenant_switch import TenantSwitchModel
from sim.golden.reduction.tree_frames import LENGTHS, long_frame, may_come_down, may_go_up, read
from sim.golden.reduction.tree_rule import TreeOutcome, TreeSlot, child_rule, parent_rule, root_rule
from sim.golden.tenancy import EPOCHS, Refused, State, Tenant

Slot = SwitchSlot | TreeSlot


@dataclass(kw_only=True)
class TreeJob(Job):
    """Holds a job that holds the switch; without a parent the switch is the root of its tree."""

    parent: int | None = None  #: number of the port to its parent
    tree_slots: dict[int, Slot] = field(default_factory=dict)

    def tree_slot(self, seq: int) -> Slot:
        """Return the state of a slot."""
        kind = SwitchSlot if self.parent is None else TreeSlot
        return self.tree_slots.get(seq) or kind.at_start(self.ports, LANES)


def own_part(slot: Slot) -> SwitchSlot:
    """Return what came from the children."""
    return slot.own if isinstance(slot, TreeSlot) else slot


def finished(slot: Slot, everyone: int) -> bool:
    """Return whether the next use may begin."""
    return slot.finished if isinstance(slot, TreeSlot) else slot.ack_bm == everyone


@dataclass
class TreeSwitchModel(TenantSwitchModel):
    """Models a switch of tenants, each of which may have a parent behind one of its ports.

    It is the child number ``place`` of all its parents, which have the address ``above``. Frames
    that go up have that bit, and frames that come down must have it.
    """

    above: bytes = bytes(6)
    place: int = 0
    octets: Counter[int] = field(
        default_factory=Counter
    )  #: bytes of frames that name a job, by its number

    def job_of(self, item: Tenant) -> TreeJob:
        """Return the job of a tenant that is granted the switch."""
        epoch = item.epoch % EPOCHS
        return TreeJob(
            ports=item.ports, epoch=epoch, base=item.base, count=item.count, parent=item.parent
        )

    def tree_job(self, number: int) -> TreeJob:
        """Return a job that holds the switch."""
        job = self.active[number]
        assert isinstance(job, TreeJob)
        return job

    def own_part(self, number: int, seq: int) -> SwitchSlot:
        """Return what children have sent to a slot of a job, which may hold the switch or not."""
        if number in self.active:
            return own_part(self.tree_job(number).tree_slot(seq))
        item = self.tenants[number]
        return SwitchSlot.at_start(item.ports if item else 0, LANES)

    def unfinished(self, number: int) -> int:
        """Return how many uses of a job's slots have begun and not ended."""
        if number not in self.active:
            return 0
        job = self.tree_job(number)
        return sum(not finished(slot, job.ports) for slot in job.tree_slots.values())

    def take_packet(self, port: int, data: bytes, corrupt: bool) -> list[tuple[int, bytes]]:
        """Take a frame that is no command; return the ports and frames of its answers."""
        verdict, answers = self.judge(port, data, corrupt), []
        if verdict is None:
            verdict, answers = self.rule(port, read(data)[0])
        self.counters[port, verdict] += 1
        if verdict not in (Verdict.CORRUPT, Verdict.FOREIGN, Verdict.MALFORMED):
            number = read(data)[0].job
            if number < self.jobs:
                self.by_job[number, verdict] += 1
                self.octets[number] += len(data)
        return answers

    def rule(self, port: int, frame: WireFrame) -> tuple[StrEnum, list[tuple[int, bytes]]]:
        """Apply a frame to its slot; return the verdict, and the ports and frames of answers."""
        job = self.tree_job(frame.job)
        slot = job.tree_slot(frame.seq)
        outcome = self.outcome(job, slot, port, frame.packet)
        before, after = own_part(slot), own_part(outcome.slot)
        if before.use != after.use and self.holders[frame.job].state is State.DRAINING:
            return Refused.DRAINING, []
        job.tree_slots[frame.seq] = outcome.slot
        if finished(outcome.slot, job.ports) and not finished(slot, job.ports):
            self.operations[frame.job] += 1
        down, up = outcome.down, outcome.up
        if job.parent is None and down is not None and outcome.verdict is Verdict.ADDED:
            self.saturations += down.saturated.bit_count()
        answers = []
        if down is not None:
            data = self.answer(frame, down, self.group).to_bytes()
            answers = [(k, data) for k in range(self.ports) if down.bm >> k & 1]
        if up is not None:
            assert job.parent is not None
            answers.append((job.parent, self.upward(frame, up)))
        return outcome.verdict, answers

    def outcome(self, job: TreeJob, slot: Slot, port: int, packet: Packet) -> TreeOutcome:
        """Return what the rule says of a packet."""
        if isinstance(slot, SwitchSlot):
            root = root_rule(slot, packet, job.ports)
            return TreeOutcome(root.slot, root.verdict, root.answer)
        if port == job.parent:
            return parent_rule(slot, packet, job.ports)
        return child_rule(slot, packet, job.ports)

    def answer(self, frame: WireFrame, packet: Packet, destination: bytes) -> WireFrame:
        """Return the frame of a packet that answers ``frame``; only a sum has a payload."""
        is_sum = packet.is_agg and not packet.acked
        return WireFrame(
            destination=destination,
            source=self.address,
            is_agg=packet.is_agg,
            acked=packet.acked,
            bm=packet.bm,
            job=frame.job,
            epoch=frame.epoch,
            seq=frame.seq,
            use=packet.use,
            payload=packet.payload if is_sum else (0,) * LANES,
            saturated=packet.saturated,
        )

    def upward(self, frame: WireFrame, packet: Packet) -> bytes:
        """Return what goes to the parent: a long frame with the sum, or an acknowledgement."""
        narrow = replace(packet, bm=1 << self.place, payload=(0,) * LANES)
        fields = self.answer(frame, narrow, self.above)
        return long_frame(fields, packet.payload) if packet.is_agg else fields.to_bytes()

    def judge(self, port: int, data: bytes, corrupt: bool) -> StrEnum | None:
        """Return why a frame does not come to a slot; None if it does."""
        quality = judge(data, corrupt, self.address, LENGTHS)
        if quality is not Quality.GOOD:
            return Verdict(quality.value)
        frame, long = read(data)
        up, down = may_go_up(frame, long), may_come_down(frame, long)
        if not up and not down:
            return Verdict.MALFORMED
        tenant = self.tenants[frame.job] if frame.job < self.jobs else None
        if tenant is None or not tenant.everyone >> port & 1:
            return Verdict.WRONG_JOB
        from_parent = port == tenant.parent
        if not (down if from_parent else up):
            return Verdict.WRONG_WAY
        if not frame.bm >> self.place & 1 if from_parent else frame.bm != 1 << port:
            return Verdict.WRONG_WORKER
        if not tenant.holds:
            return Refused.NOT_GRANTED
        if frame.epoch != tenant.epoch % EPOCHS:
            return Verdict.WRONG_RUN
        return None if frame.seq in tenant.slots else Verdict.WRONG_SLOT
