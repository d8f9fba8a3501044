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
        "Commands; a field acts when it is written as one.",
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
            ro("reason", 3, "why the last command had no effect", enum=as_int_enum(Refusal)),
            ro("clearing_counters", 1, "verdicts are not counted"),
        ),
    ),
    Register(
        "active_jobs",
        "Shows which jobs are active.",
        (ro("active_jobs", 32, "a bit for each job"),),
    ),
)

ADDRESS_REGISTERS = (
    *address_registers("switch_address", "own address, which packets are sent to"),
    *address_registers("group_address", "address which answers are sent to"),
)

JOB_REGISTERS = (
    Register(
        "job",
        "The job that commands are for.",
        (rw("job_number", 16, "number of the job"), rw("job_epoch", 16, "number of the job's run")),
    ),
    Register(
        "job_ports", "Ports of the job's workers.", (rw("job_ports", 32, "a bit for each port"),)
    ),
    Register(
        "job_base", "First of the job's slots.", (rw("job_base", 16, "number of the first slot"),)
    ),
    Register("job_slots", "Number of the job's slots.", (rw("job_slots", 17, "number of slots"),)),
)


def counter_registers() -> tuple[Register, ...]:
    """Return the registers of the counters: those of a port by a choice."""
    return (
        Register(
            "counter_select",
            "Chooses what the next registers show.",
            (
                rw("counter_port", 5, "port whose counters are shown"),
                rw(
                    "counter_verdict",
                    4,
                    "verdict whose counter is shown",
                    enum=as_int_enum(Verdict),
                ),
                ro("counter_exists", 1, "the switch has that port; else its counters read as 0"),
            ),
        ),
        Register(
            "verdicts",
            "Packets of the chosen port that met the chosen verdict.",
            (ro("counter_value", COUNTER_BITS, "packets that came by the port"),),
        ),
        *(
            Register(
                name, "Shows a counter of the chosen port.", (ro(name, PORT_COUNTER_BITS, doc),)
            )
            for name, doc in PORT_COUNTERS.items()
        ),
        Register(
            "packets",
            "Requests that the aggregator has taken.",
            (ro("packets", TOTAL_BITS, "requests of the aggregator"),),
        ),
        Register(
            "cycles",
            "Cycles in which the aggregator took requests, from first to last.",
            (ro("cycles", TOTAL_BITS, "cycles from the first request to the last"),),
        ),
        Register(
            "saturations",
            "Full activations that were clamped.",
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
    """Return the register map of a switch; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "p4sgd_switch",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + ADDRESS_REGISTERS
        + JOB_REGISTERS
        + counter_registers(),
    )


def constants(params: SwitchParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "jobs": params.jobs,
        "slots": params.slots,
    }
