"""Declares the registers that a switch of tenants has beside those of every switch of P4SGD."""

from hdl.common.counter_banks import MOST_PARTS
from hdl.common.register_parts import choice, chosen, single
from hdl.common.registers import Field, Register, names_of, pulse, ro, rw
from hdl.switch.control_port import CONTROL_COUNTERS
from hdl.switch.tenancy_head import Reason, TenancyKind
from hdl.switch.tenant_counters import TENANT_COUNTERS

IDENTITY = 0x4D4E5357  #: "MNSW"

COMMANDS: tuple[Field, ...] = (
    pulse(
        "register_job", "enter ports and slots of job_number, whose grants up to job_epoch are over"
    ),
    pulse("acquire_job", "try to get the switch for job_number, with job_epoch"),
    pulse("release_job", "end the grants of job_number up to job_epoch, or let it drain"),
)
STATE = Register(
    "state",
    "Tells what became of the last command, with owner and owner_epoch.",
    (
        ro("busy", 1, "a command is being carried out"),
        ro("refused", 1, "the last command had no effect"),
        ro("answered", 8, "the answer to the last command", enum=names_of(TenancyKind)),
        ro("reason", 8, "why the last command had no effect", enum=names_of(Reason)),
        ro("ignored", 1, "a command came while another was being carried out, and is lost"),
        ro("clearing_counters", 1, "verdicts are not counted"),
    ),
)
JOB = (
    single(rw("job_number", 16, "number of the job"), "The job that commands are for."),
    single(
        rw("job_epoch", 32, "number of a grant; to register, release: of the last that is over"),
        "The number of a grant that commands name.",
    ),
)
JOB_RELEASE = single(
    rw("job_force", 1, "end the grant whatever its slots hold"), "Releases the job at once."
)
JOB_PARENT = Register(
    "job_parent",
    "The port towards the job's parent, of a switch that is not the root of the job's tree.",
    (
        rw("job_parent_port", 8, "number of the port, which is no worker's of the job"),
        rw("job_has_parent", 1, "the job has a parent"),
    ),
)

GRANT_REGISTERS: tuple[Register, ...] = (
    single(
        ro("owner", 16, "number of a job; of the command's own where no other is in the way"),
        "The job that was in the way of the last command, if it was refused.",
    ),
    single(
        ro("owner_epoch", 32, "number of its grant; 0 if it has none"),
        "The grant of the job that was in the way.",
    ),
    Register(
        "sharing",
        "Sets who may hold the switch at a time. Jobs never share slots.",
        (
            rw("most_granted", 6, "most jobs that hold it, if ports are not held apart", init=1),
            rw("ports_apart", 1, "let all jobs hold it that have no port in common"),
        ),
    ),
    single(
        rw("control_ports", 32, "a bit for each port"),
        "Ports that take frames with commands: whoever is behind them may command for all jobs.",
    ),
    single(ro("registered_jobs", 32, "a bit for each job"), "Shows which jobs are registered."),
    single(ro("draining_jobs", 32, "a bit for each job"), "Shows which jobs drain."),
    single(
        ro("unfinished_jobs", 32, "a bit for each job"),
        "Shows which jobs have a use of a slot that has begun and not ended.",
    ),
    single(
        ro("granted_epoch", 32, "number of the grant; 0 if there is none"),
        "Shows the grant of job_number, whose low 16 bits its packets must have.",
    ),
)


def tenant_counter_registers() -> tuple[Register, ...]:
    """Return the registers of the counters of a tenant, after one was chosen."""
    return (
        Register(
            "tenant_select",
            "Chooses what the next registers show.",
            (
                rw("counter_job", (MOST_PARTS - 1).bit_length(), "job whose counters are shown"),
                choice(TENANT_COUNTERS, "tenant", "counter that is shown"),
            ),
        ),
        chosen(TENANT_COUNTERS, "tenant", "a job"),
        single(
            ro("tenant_verdicts", 32, "packets that name the chosen job"),
            "Packets of the chosen job that met the verdict of counter_select.",
        ),
        single(
            choice(CONTROL_COUNTERS, "control", "counter that is shown"),
            "Chooses what control_count shows.",
        ),
        chosen(CONTROL_COUNTERS, "control", "the port of counter_select"),
    )
