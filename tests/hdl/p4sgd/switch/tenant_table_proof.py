"""States what is proven of tenants: those in the switch are apart, and their slots cleared."""

from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib.wiring import In

from hdl.common.arithmetic import delay
from hdl.switch.job_table import JobTable
from hdl.switch.tenancy import SHARING, TENANT_COMMAND
from hdl.switch.tenancy_head import TenancyKind
from hdl.switch.tenant_control import State, TenantControl
from hdl.switch.tenant_judge import TenantJudge
from tests.formal.claims import check, claim, reach
from tests.formal.promises import RequestPromises
from tests.hdl.p4sgd.switch.job_table_proof import JobTableProof


class TenantTableProof(JobTableProof):
    """Has a :class:`JobTable` of tenants with free packets, commands and progress.

    Its requests are as promised, and each is of a slot that was cleared for its job's own grant:
    what a job sends changes no slot of another. Every command is answered in time.
    """

    #: Inputs that are wired to what is inside instead; ``command`` is the one under way.
    peeks = JobTableProof.peeks | {
        "command": "dut.control.command",
        "step": "dut.control.step",
        "closed_0": "dut.control.closed_0",
        "entry": "dut.control.entry",
    }
    states = State
    command_layout = TENANT_COMMAND

    def more_inputs(self, params) -> dict:
        """Return what else a host, or a frame, may give the tenants."""
        steps = max(params.jobs + TenantJudge.latency, TenantControl(params).ending)
        return {
            "offered": In(TENANT_COMMAND),
            "offers": In(1),
            "sharing": In(SHARING),
            "progress": In(params.progress),
            "step": In(range(steps)),
            "closed_0": In(32),
            "entry": In(params.job),
        }

    def give(self, m: Module, dut: JobTable) -> None:
        """Give the table any commands, at any time."""
        m.d.comb += [
            dut.commands.payload.eq(self.offered),
            dut.commands.valid.eq(self.offers),
            dut.sharing.eq(self.sharing),
            dut.progress.eq(self.progress),
        ]

    def tables(self, m: Module) -> None:
        """Claim of the table at any time that jobs in the switch are apart, even one to come."""
        command, table, params = self.command, self.table, self.params
        index = command.job[: params.job_bits]
        entry: Any = Array(table)[index]
        clearing = self.state == State.CLEAR
        for k in range(params.jobs):
            job = table[k]
            with m.If(job.registered):
                claim(m, "job_has_ports_and_slots", (job.ports != 0) & (job.base < job.end))
                claim(m, "slots_exist", job.end <= params.slots)
                claim(m, "parent_is_no_child", (job.ports & job.parent) == 0)
            check(m, "holders_are_registered", job.registered | ~job.active)
            check(m, "holders_drain", job.active | ~job.draining)
            for other in (table[j] for j in range(k)):
                with m.If(job.active & other.active):
                    claim(m, "slots_apart", slots_apart(job, other))
            with m.If(clearing & (index != k) & job.active):
                check(m, "grant_keeps_slots_apart", slots_apart(job, entry))
        deciding = (self.state == State.COMPARE) | (self.state == State.DECIDE)
        with m.If((deciding | clearing) & (command.job < params.jobs)):
            for name in ("registered", "ports", "parent", "base", "end"):
                check(m, f"entry_has_its_{name}", self.entry[name] == entry[name])
        with m.If(clearing):
            check(m, "acquires_what_is_there", entry.registered & ~entry.active)
            check(m, "acquires_in_range", command.job < params.jobs)
        with m.If(self.state == State.COMPARE):
            check(m, "compares_in_time", self.step < params.jobs + TenantJudge.latency)
        with m.If(self.state == State.END):
            check(m, "ends_in_time", self.step < TenantControl(params).ending)
        self.grants(m, clearing & (index == 0))
        self.clears_in_time(m, clearing)

    def grants(self, m: Module, clearing: Value) -> None:
        """Claim that no grant has an old number, for the first job, as all are alike."""
        job, closed = self.table[0], self.closed_0
        had, begun = Signal(self.params.job), Signal()
        over = delay(m, closed, 1, "over")
        m.d.sync += [had.eq(job), begun.eq(1)]
        with m.If(clearing):
            check(m, "grants_what_is_not_over", self.command.epoch > closed)
        with m.If(job.draining):
            check(m, "what_drains_is_over", job.epoch <= closed)
        with m.If(begun):
            claim(m, "what_is_over_stays_over", closed >= over)
            with m.If(~had.active & job.active):
                claim(m, "no_grant_is_over", job.epoch > over)
            with m.If(had.active & ~job.active):
                claim(m, "a_grant_that_ends_is_over", had.epoch <= closed)
            with m.If(had.active & job.active):
                claim(m, "a_grant_keeps_its_number", job.epoch == had.epoch)

    def happenings(self, m: Module, dut: JobTable, requested: RequestPromises) -> None:
        """Reach the first and last slot, a grant under load, and one that drains to its end."""
        slots, first = self.params.slots, Signal()
        with m.If(dut.valid & (requested.slot == 0)):
            m.d.sync += first.eq(1)
        drained = delay(m, self.table[0].draining, 1, "draining", reset_less=False)
        reported = dut.answered & (dut.answer.kind == TenancyKind.DRAINING)
        reach(m, "first_and_last_slot", dut.valid & (requested.slot == slots - 1) & first)
        reach(m, "holds_ports_that_wait", dut.hold & self.waiting)
        reach(m, "drains_to_its_end", drained & ~self.table[0].active)
        reach(m, "a_request_while_it_drains", dut.valid & dut.request.draining)
        reach(m, "reported_to_drain", reported)


def slots_apart(job: Any, other: Any) -> Value:
    """Whether two jobs have no slot in common."""
    return (job.end <= other.base) | (other.end <= job.base)
