"""Declares the registers by which a host starts and stops a switch's jobs."""

from typing import Any

from amaranth.hdl import Module, Shape

from hdl.common.register_parts import address_registers, single
from hdl.common.registers import Field, Register, names_of, pulse, ro, rw
from hdl.switch.params import PacketSwitchParams, Refusal
from hdl.switch.port_counters import PORT_COUNTER_BITS, PORT_COUNTERS
from hdl.switch.total_counters import TOTAL_BITS
from hdl.switch.verdict_counters import COUNTER_BITS

ACTIVE_JOBS = single(
    ro("active_jobs", 32, "tells with a bit for each job that it is active"),
    "Shows which jobs are active.",
)
JOB_PORTS = single(
    rw("job_ports", 32, "sets with a bit for each port whether a worker of the job is there"),
    "Sets the ports of the job's workers.",
)

PLACE_REGISTERS = (
    JOB_PORTS,
    single(
        rw("job_base", 16, "sets the number of the job's first slot"),
        "Sets where the job's slots begin.",
    ),
    single(
        rw("job_slots", 17, "sets the number of the job's slots"),
        "Sets how many slots the job has.",
    ),
)
#: commands of a host
JOB_COMMANDS = (
    pulse("start_job", "starts job_number: its slots are cleared, then its packets are taken"),
    pulse("stop_job", "stops job_number: its packets are no longer taken"),
)

ADDRESS_REGISTERS = (
    *address_registers(
        "switch_address", "the switch's own Ethernet address, to which workers send packets"
    ),
    *address_registers("group_address", "the Ethernet address to which the switch sends answers"),
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


def command_jobs(m: Module, settings: Any, command: Any) -> None:
    """Connect a host's settings to a :data:`hdl.switch.params.COMMAND`."""
    m.d.comb += [
        command.start.eq(settings.start_job),
        command.stop.eq(settings.stop_job),
        command.job.eq(settings.job_number),
        command.ports.eq(settings.job_ports),
        command.epoch.eq(settings.job_epoch),
        command.base.eq(settings.job_base),
        command.count.eq(settings.job_slots),
    ]


def counter_registers(params: PacketSwitchParams) -> tuple[Register, ...]:
    """Return the registers of the counters: those of a port after it was chosen."""
    return (
        Register(
            "counter_select",
            "Chooses what the next registers show.",
            rw("counter_port", 5, "chooses the port whose counters are shown"),
            rw(
                "counter_verdict",
                Shape.cast(params.verdict).width,
                "chooses the verdict whose counter is shown",
                enum=names_of(params.verdict),
            ),
            ro(
                "counter_exists",
                1,
                "tells that the switch has a port counter_port; otherwise the port's counters"
                " read as 0",
            ),
        ),
        Register(
            "verdicts",
            "Counts packets of the chosen port that got the chosen verdict.",
            ro(
                "counter_value",
                COUNTER_BITS,
                "counts packets that came in at port counter_port and got verdict counter_verdict",
            ),
        ),
        *(
            single(ro(name, PORT_COUNTER_BITS, doc), "Shows a counter of the chosen port.")
            for name, doc in PORT_COUNTERS.items()
        ),
        single(
            ro("packets", TOTAL_BITS, "counts requests that the aggregator has taken"),
            "Counts requests of the aggregator.",
        ),
        single(
            ro(
                "cycles",
                TOTAL_BITS,
                "counts cycles from the aggregator's first request to its last, both included",
            ),
            "Counts cycles from the aggregator's first request to its last.",
        ),
        single(
            ro(
                "saturations",
                TOTAL_BITS,
                "counts lanes of complete sums that were clamped, once for each sum",
            ),
            "Counts full activations that were clamped.",
        ),
    )
