"""What is proven of tenants: those that hold the switch are apart, and their slots are cleared."""

from typing import Any

from amaranth.hdl import Array, Module, Signal, Value

from hdl.common.arithmetic import delay
from hdl.switch.job_table import JobTable
from hdl.switch.tenant_control import State
from tests.formal.claims import check, claim, reach
from tests.formal.promises import RequestPromises
from tests.hdl.p4sgd.switch.job_table_proof import JobTableProof


class TenantTableProof(JobTableProof):
    """A :class:`JobTable` of tenants with free packets, commands and progress.

    Its requests are as promised, and each is of a slot that was cleared for its job's own grant:
    what a job sends changes no slot of another.
    """

    states = State

    def tables(self, m: Module) -> None:
        """The table at any time: jobs that hold the switch are apart, and so is one to come."""
        command, table = self.command, self.table
        index = command.job[: self.params.job_bits]
        entry: Any = Array(table)[index]
        clearing = self.state == State.CLEAR
        for k in range(self.params.jobs):
            job = table[k]
            with m.If(job.registered):
                claim(m, "job_has_ports_and_slots", (job.ports != 0) & (job.base < job.end))
                claim(m, "slots_exist", job.end <= self.params.slots)
                claim(m, "parent_is_no_child", (job.ports & job.parent) == 0)
            check(m, "holders_are_registered", job.registered | ~job.active)
            check(m, "holders_drain", job.active | ~job.draining)
            for other in (table[j] for j in range(k)):
                with m.If(job.active & other.active):
                    claim(m, "slots_apart", slots_apart(job, other))
            with m.If(clearing & (index != k) & job.active):
                check(m, "grant_keeps_slots_apart", slots_apart(job, entry))
            self.grants(m, k)
        with m.If(self.state != State.IDLE):
            check(m, "acquires_what_is_there", entry.registered & ~entry.active)
            check(m, "acquires_in_range", command.job < self.params.jobs)
        self.clears_in_time(m, clearing)

    def grants(self, m: Module, k: int) -> None:
        """Every grant has an epoch of its own, and a job that drains is granted no more."""
        job = self.table[k]
        was, epoch = Signal(name=f"was_{k}"), Signal(16, name=f"epoch_{k}")
        begun = Signal(name=f"begun_{k}")
        m.d.sync += [was.eq(job.active), epoch.eq(job.epoch), begun.eq(1)]
        with m.If(begun & ~was & job.active):
            later = (job.epoch - epoch)[:16]
            claim(m, "a_grant_has_a_later_epoch", (later != 0) & ~later[-1])
        with m.If(begun & was & job.active):
            claim(m, "an_epoch_lasts_as_long_as_its_grant", job.epoch == epoch)

    def happenings(self, m: Module, dut: JobTable, asked: RequestPromises) -> None:
        """The first and the last slot, a grant under load, and one that drains to its end."""
        m.d.comb += dut.progress.eq(self.progress)
        slots, first = self.params.slots, Signal()
        with m.If(dut.valid & (asked.slot == 0)):
            m.d.sync += first.eq(1)
        drained = delay(m, self.table[0].draining, 1, "draining", reset_less=False)
        reach(m, "first_and_last_slot", dut.valid & (asked.slot == slots - 1) & first)
        reach(m, "holds_ports_that_wait", dut.hold & self.waiting)
        reach(m, "drains_to_its_end", drained & ~self.table[0].active)
        reach(m, "a_request_while_it_drains", dut.valid & dut.request.draining)


def slots_apart(job: Any, other: Any) -> Value:
    """Whether two jobs have no slot in common."""
    return (job.end <= other.base) | (other.end <= job.base)
