"""Declares the registers that a switch of tenants has besides those of every P4SGD switch."""

from hdl.common.counter_banks import MAX_PARTS
from hdl.common.register_parts import choice, chosen, single
from hdl.common.registers import Field, Register, names_of, pulse, ro, rw
from hdl.switch.control_port import CONTROL_COUNTERS
from hdl.switch.tenancy_head import Reason, TenancyKind
from hdl.switch.tenant_counters import TENANT_COUNTERS

IDENTITY = 0x4D4E5357  #: the letters MNSW

COMMANDS: tuple[Field, ...] = (
    pulse(
        "register_job",
        "enters the ports and slots of job_number, all of whose grants up to job_epoch are over",
    ),
    pulse(
        "acquire_job",
        "tries once to get the switch for job_number, with a grant of number job_epoch",
    ),
    pulse("release_job", "ends the grants of job_number up to job_epoch, or lets the job drain"),
)
STATE = Register(
    "state",
    "Tells what became of the last command, with owner and owner_epoch.",
    ro("busy", 1, "tells that a command is being carried out"),
    ro("refused", 1, "tells that the last command had no effect"),
    ro("answered", 8, "tells the answer to the last command", enum=names_of(TenancyKind)),
    ro("reason", 8, "tells why the last command had no effect", enum=names_of(Reason)),
    ro(
        "ignored",
        1,
        "tells that the last command was lost because it came while another one was being"
        " carried out",
    ),
    ro(
        "clearing_counters",
        1,
        "tells that the counters of verdicts are being cleared; meanwhile they do not count",
    ),
)
JOB = (
    single(
        rw("job_number", 16, "sets the number of the job that commands are for"),
        "Sets the job that commands are for.",
    ),
    single(
        rw(
            "job_epoch",
            32,
            "sets the number of the grant; for register_job and release_job, the number of the"
            " last grant that is over",
        ),
        "Sets the number of the grant that commands name.",
    ),
)
JOB_RELEASE = single(
    rw(
        "job_force",
        1,
        "lets release_job end a grant at once, even if uses of its slots are under way; 0: the"
        " job then drains first",
    ),
    "Sets whether the job is released at once.",
)
JOB_PARENT = Register(
    "job_parent",
    "Sets the port towards the job's parent switch, if this switch is not the root of the job's"
    " tree.",
    rw(
        "job_parent_port",
        8,
        "sets the port towards the job's parent, which is no port of the job's workers",
    ),
    rw("job_has_parent", 1, "sets whether the job has a parent"),
)

GRANT_REGISTERS: tuple[Register, ...] = (
    single(
        ro(
            "owner",
            16,
            "tells the job that was in the way of the last command; if no other job was, the"
            " command's own",
        ),
        "Tells which job was in the way of the last command, if it was refused.",
    ),
    single(
        ro("owner_epoch", 32, "tells the number of the grant of job owner; 0: it has none"),
        "Tells the grant of the job that was in the way.",
    ),
    Register(
        "sharing",
        "Sets which jobs may hold the switch at the same time. Jobs never share slots.",
        rw(
            "most_granted",
            6,
            "sets how many jobs may hold the switch at the same time, unless ports_apart is set",
            init=1,
        ),
        rw(
            "ports_apart",
            1,
            "lets any number of jobs hold the switch at the same time, if no two of them have"
            " a port in common",
        ),
    ),
    single(
        rw("control_ports", 32, "lets ports take frames with commands, with a bit for each port"),
        "Sets which ports take frames with commands; whoever is connected there may send commands"
        " for all jobs.",
    ),
    single(
        ro("registered_jobs", 32, "tells with a bit for each job that it is registered"),
        "Shows which jobs are registered.",
    ),
    single(
        ro(
            "draining_jobs",
            32,
            "tells with a bit for each job that it drains: uses of its slots are completed before"
            " it is released",
        ),
        "Shows which jobs drain.",
    ),
    single(
        ro(
            "unfinished_jobs",
            32,
            "tells with a bit for each job that some uses of its slots have begun and not ended",
        ),
        "Shows which jobs have uses of slots under way.",
    ),
    single(
        ro("granted_epoch", 32, "tells the number of the grant of job_number; 0: it has none"),
        "Shows the number of job_number's grant, whose low 16 bits its packets must have as epoch.",
    ),
)


def tenant_counter_registers() -> tuple[Register, ...]:
    """Return the registers of the counters of a tenant, after one was chosen."""
    return (
        Register(
            "tenant_select",
            "Chooses what the next registers show.",
            rw(
                "counter_job",
                (MAX_PARTS - 1).bit_length(),
                "chooses the job whose counters are shown",
            ),
            choice(TENANT_COUNTERS, "tenant", "job counter_job"),
        ),
        chosen(TENANT_COUNTERS, "tenant", "job counter_job"),
        single(
            ro(
                "tenant_verdicts",
                32,
                "counts packets that name job counter_job and got verdict counter_verdict",
            ),
            "Counts packets of the chosen job that got the verdict counter_verdict.",
        ),
        single(
            choice(CONTROL_COUNTERS, "control", "port counter_port"),
            "Chooses the counter that control_count shows.",
        ),
        chosen(CONTROL_COUNTERS, "control", "port counter_port"),
    )
