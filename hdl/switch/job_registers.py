"""Declares the registers by which a host starts and stops a switch's jobs."""

from typing import Any

from amaranth.hdl import Module, Shape

from hdl.common.register_parts import single
from hdl.common.registers import Field, Register, names_of, ro, rw
from hdl.switch.params import Refusal

ACTIVE_JOBS = single(
    ro("active_jobs", 32, "tells with a bit for each job that it is active"),
    "Shows which jobs are active.",
)
JOB_PORTS = single(
    rw("job_ports", 32, "sets with a bit for each port whether a worker of the job is there"),
    "Sets the ports of the job's workers.",
)


def state_register(*more: Field) -> Register:
    """Return the register with the result of a command, with ``more`` fields at its end."""
    return Register(
        "state",
        "Tells what became of the last command.",
        ro(
            "busy",
            1,
            "tells that a job is being started; meanwhile the job's registers must not change",
        ),
        ro("refused", 1, "tells that the last command had no effect"),
        ro(
            "reason",
            Shape.cast(Refusal).width,
            "tells why the last command had no effect",
            enum=names_of(Refusal),
        ),
        ro(
            "clearing_counters",
            1,
            "tells that the counters of verdicts are being cleared; meanwhile they do not count",
        ),
        *more,
    )


def job_register(doc: str) -> Register:
    """Return the register with the number of a command's job, described by ``doc``."""
    return Register(
        "job",
        doc,
        rw("job_number", 16, "sets the number of the job that commands are for"),
        rw("job_epoch", 16, "sets the number of the job's run"),
    )


def report_jobs(m: Module, status: Any, jobs: Any) -> None:
    """Connect the state of a :class:`hdl.switch.job_table.JobTable` to the registers."""
    m.d.comb += [
        status.busy.eq(jobs.busy),
        status.refused.eq(jobs.reason.as_value() != 0),
        status.reason.eq(jobs.reason),
        status.active_jobs.eq(jobs.active),
    ]
