"""The registers of a switch whose jobs are tenants, beside those of every switch of P4SGD."""

from hdl.common.counter_banks import MOST_PARTS
from hdl.common.register_parts import choice, chosen, single
from hdl.common.registers import Field, Register, pulse, ro, rw
from hdl.switch.tenant_counters import TENANT_COUNTERS

IDENTITY = 0x4D4E5357  #: "MNSW"

COMMANDS: tuple[Field, ...] = (
    pulse("start_job", "acquire the switch for job_number, with job_epoch: grant or refuse it"),
    pulse("stop_job", "take the switch from job_number by force"),
    pulse("register_job", "enter ports and slots of job_number, and the epoch before its first"),
    pulse("release_job", "let job_number begin no use more, and end its grant with the last one"),
)
JOB_PARENT = Register(
    "job_parent",
    "The port towards the job's parent, of a switch that is not the root of the job's tree.",
    (
        rw("job_parent_port", 8, "number of the port, which is no worker's of the job"),
        rw("job_has_parent", 1, "the job has a parent"),
    ),
)
OWNER = ro("owner", 5, "the job that was in the way of an acquire that was refused")

GRANT_REGISTERS: tuple[Register, ...] = (
    Register(
        "sharing",
        "Who may hold the switch at a time. Jobs never share slots.",
        (
            rw("most_granted", 6, "so many jobs at most", init=1),
            rw("ports_apart", 1, "no two that have a port in common"),
        ),
    ),
    single(ro("registered_jobs", 32, "a bit for each job"), "Shows which jobs are registered."),
    single(ro("draining_jobs", 32, "a bit for each job"), "Shows which jobs drain."),
    single(
        ro("unfinished_jobs", 32, "a bit for each job"),
        "Shows which jobs have a use of a slot that has begun and not ended.",
    ),
    single(
        ro("granted_epoch", 16, "number of the grant, or of the last one"),
        "Shows the epoch that packets of job_number must have.",
    ),
)


def tenant_counter_registers() -> tuple[Register, ...]:
    """Return the registers of what is counted of a tenant, by a choice."""
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
    )
