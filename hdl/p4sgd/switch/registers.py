"""The switch's registers, declared once for the hardware, the driver and the documentation."""

from hdl.common.registers import Register, RegisterMap, as_int_enum, pulse, ro, rw
from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.p4sgd.switch.total_counters import TOTAL_BITS
from hdl.p4sgd.transport.registers import address_registers
from hdl.switch.params import Refusal
from hdl.switch.port_counters import PORT_COUNTER_BITS, PORT_COUNTERS
from hdl.switch.verdict_counters import COUNTER_BITS

IDENTITY = 0x50345357  #: "P4SW"
VERSION = 3

IDENTITY_REGISTERS = (
    Register("identity", "What this is.", (ro("identity", 32, "0x50345357"),)),
    Register("version", "Version of this register map.", (ro("version", 32, "3"),)),
    Register(
        "sizes",
        "Parameters that the hardware was built with.",
        (
            ro("ports", 6, "workers, one each"),
            ro("jobs", 6, "side by side"),
            ro("slots", 17, "AllReduces under way, of all jobs together"),
        ),
    ),
)

CONTROL_REGISTERS = (
    Register(
        "commands",
        "A field acts when it is written as one.",
        (
            pulse("start_job", "clear the slots of job_number, then take its packets"),
            pulse("stop_job", "take no more packets of job_number"),
            pulse("clear_counters", "set all counters to zero"),
        ),
    ),
    Register(
        "state",
        "What became of the last command.",
        (
            ro("busy", 1, "a job is being started; its registers must hold still"),
            ro("refused", 1, "the last command had no effect"),
            ro("reason", 3, "why", enum=as_int_enum(Refusal)),
            ro("clearing_counters", 1, "verdicts are not counted"),
        ),
    ),
    Register("active_jobs", "Jobs.", (ro("active_jobs", 32, "a bit for each job"),)),
)

ADDRESS_REGISTERS = (
    *address_registers("switch_address", "own, what packets are sent to"),
    *address_registers("group_address", "what answers are sent to"),
)

JOB_REGISTERS = (
    Register(
        "job",
        "The job that commands are for.",
        (rw("job_number", 16, "of the job"), rw("job_epoch", 16, "of its run")),
    ),
    Register("job_ports", "Its workers.", (rw("job_ports", 32, "a bit for each port"),)),
    Register("job_base", "Its slots.", (rw("job_base", 16, "the first one"),)),
    Register("job_slots", "Its slots.", (rw("job_slots", 17, "how many"),)),
)


def counter_registers() -> tuple[Register, ...]:
    """The counters: those of a port by a choice."""
    return (
        Register(
            "counter_select",
            "What the next registers show.",
            (
                rw("counter_port", 5, "port"),
                rw("counter_verdict", 4, "verdict", enum=as_int_enum(Verdict)),
                ro("counter_exists", 1, "the switch has that port; else its counters read as 0"),
            ),
        ),
        Register(
            "verdicts",
            "Of the chosen port and verdict.",
            (ro("counter_value", COUNTER_BITS, "packets that came by the port"),),
        ),
        *(
            Register(name, "Of the chosen port.", (ro(name, PORT_COUNTER_BITS, doc),))
            for name, doc in PORT_COUNTERS.items()
        ),
        Register(
            "packets", "Throughput.", (ro("packets", TOTAL_BITS, "requests of the aggregator"),)
        ),
        Register(
            "cycles", "Throughput.", (ro("cycles", TOTAL_BITS, "from their first to their last"),)
        ),
        Register(
            "saturations",
            "Full activations.",
            (
                ro(
                    "saturations",
                    TOTAL_BITS,
                    "lanes of a complete sum that were clamped, each once",
                ),
            ),
        ),
    )


def switch_registers(params: SwitchParams) -> RegisterMap:
    """The register map of a switch; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "p4sgd_switch",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + ADDRESS_REGISTERS
        + JOB_REGISTERS
        + counter_registers(),
    )


def constants(params: SwitchParams) -> dict[str, int]:
    """The fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "jobs": params.jobs,
        "slots": params.slots,
    }
