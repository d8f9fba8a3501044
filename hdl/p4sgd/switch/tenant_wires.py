"""Connects the additional parts of a switch of tenants: commands, state, counters."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Value
from amaranth.lib.wiring import connect

from hdl.common.arithmetic import delay, low_bits
from hdl.common.register_block import RegisterBlock
from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.switch.control_plane import ControlPlane
from hdl.switch.ingress import SwitchIngress
from hdl.switch.job_table import JobTable
from hdl.switch.tenancy_head import TenancyKind
from hdl.switch.tenant_counters import TenantCounters
from hdl.switch.verdict_counters import VerdictCounters


def command_tenants(
    m: Module,
    registers: RegisterBlock,
    ingress: SwitchIngress,
    control: ControlPlane,
    jobs: JobTable,
) -> None:
    """Connect the commands of the ports and of the host, and their answers."""
    settings, command = registers.control, control.command
    kinds = {
        TenancyKind.REGISTER: settings.register_job,
        TenancyKind.ACQUIRE: settings.acquire_job,
        TenancyKind.RELEASE: settings.release_job,
    }
    m.d.comb += command.kind.eq(TenancyKind.RELEASE)
    for kind in (TenancyKind.ACQUIRE, TenancyKind.REGISTER):
        with m.If(kinds[kind]):
            m.d.comb += command.kind.eq(kind)
    connect(m, control.commands, jobs.commands)
    m.d.comb += [
        control.start.eq(Cat(kinds.values()).any()),
        command.job.eq(settings.job_number),
        command.epoch.eq(settings.job_epoch),
        command.ports.eq(settings.job_ports),
        command.parent.eq(settings.job_parent_port),
        command.has_parent.eq(settings.job_has_parent),
        command.base.eq(settings.job_base),
        command.count.eq(settings.job_slots),
        command.force.eq(settings.job_force),
        control.open.eq(settings.control_ports[: len(control.open)]),
        control.comes.eq(ingress.commands),
        *(to.eq(head) for to, head in zip(control.heads, ingress.heads, strict=True)),
        jobs.sharing.most.eq(settings.most_granted),
        jobs.sharing.apart.eq(settings.ports_apart),
        control.answered.eq(jobs.answered),
        control.answer.eq(jobs.answer),
    ]


def report_tenants(
    m: Module, registers: RegisterBlock, control: ControlPlane, jobs: JobTable
) -> None:
    """Report the answer to the host's command, and which jobs are registered, granted, draining."""
    settings, status = registers.control, registers.status
    table: list[Any] = list(jobs.table)
    epochs = Array(job.epoch for job in table)
    m.d.comb += [
        status.busy.eq(control.busy),
        status.ignored.eq(control.ignored),
        status.refused.eq(control.reported.kind == TenancyKind.REFUSED),
        status.answered.eq(control.reported.kind),
        status.reason.eq(control.reported.reason),
        status.owner.eq(control.reported.owner),
        status.owner_epoch.eq(control.reported.owner_epoch),
        status.active_jobs.eq(jobs.active),
        status.registered_jobs.eq(Cat(job.registered for job in table)),
        status.draining_jobs.eq(Cat(job.draining for job in table)),
        status.unfinished_jobs.eq(jobs.unfinished),
    ]
    number = settings.job_number
    m.d.sync += status.granted_epoch.eq(
        Mux(number < len(table), epochs[low_bits(number, jobs.params.job_bits)], 0)
    )


def count_tenants(
    m: Module,
    registers: RegisterBlock,
    control: ControlPlane,
    jobs: JobTable,
    aggregator: Aggregator,
    verdict: Value,
) -> None:
    """Add the counters of tenants and of commands, with their registers."""
    settings, status, params = registers.control, registers.status, jobs.params
    m.submodules.tenants = tenants = TenantCounters(params)
    m.submodules.tenant_verdicts = verdicts = VerdictCounters.sized(
        verdict=params.verdict, sources=params.jobs
    )
    progress = aggregator.progress
    of = delay(m, jobs.of, aggregator.latency, "of", reset_less=False)
    if params.parents:
        m.d.comb += tenants.longer.eq(delay(m, jobs.longer, aggregator.latency, "longer"))
    m.d.comb += [
        *(counters.clear.eq(settings.clear_counters) for counters in (tenants, verdicts, control)),
        tenants.active.eq(jobs.active),
        tenants.unfinished.eq(jobs.unfinished),
        tenants.refused.eq(jobs.refused_jobs),
        *(tenants.ended[k].eq(progress.ended & (progress.job == k)) for k in range(params.jobs)),
        tenants.of.eq(of),
        tenants.job.eq(settings.counter_job),
        tenants.select.eq(settings.tenant_counter),
        verdicts.verdict.eq(Mux(of.any(), verdict, 0)),
        verdicts.source.eq(of),
        verdicts.number.eq(low_bits(settings.counter_job, len(verdicts.number))),
        verdicts.of.eq(settings.counter_verdict),
        control.part.eq(settings.counter_port),
        control.select.eq(settings.control_counter),
        status.tenant_count.eq(tenants.value),
        status.tenant_verdicts.eq(Mux(settings.counter_job < params.jobs, verdicts.value, 0)),
        status.control_count.eq(control.value),
    ]
