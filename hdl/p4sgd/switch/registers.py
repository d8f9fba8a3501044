"""Declares the switch's registers, once for the hardware, the driver and the documentation."""

from functools import cache

from amaranth.hdl import Shape

from hdl.common.register_parts import commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw
from hdl.p4sgd.switch import tenant_registers
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.total_counters import TOTAL_BITS
from hdl.p4sgd.transport.registers import address_registers
from hdl.switch.job_registers import ACTIVE_JOBS, JOB_PORTS, job_register, state_register
from hdl.switch.port_counters import PORT_COUNTER_BITS, PORT_COUNTERS
from hdl.switch.verdict_counters import COUNTER_BITS

IDENTITY = 0x50345357  #: the letters P4SW
VERSION = 4

COMMANDS = (
    pulse("start_job", "starts job_number: its slots are cleared, then its packets are taken"),
    pulse("stop_job", "stops job_number: its packets are no longer taken"),
)

ADDRESS_REGISTERS = (
    *address_registers(
        "switch_address", "the switch's own Ethernet address, to which workers send packets"
    ),
    *address_registers("group_address", "the Ethernet address to which the switch sends answers"),
)

PARENT_REGISTERS = (
    *address_registers(
        "parent_address", "the Ethernet address of the switches above, one for all of them"
    ),
    single(
        rw(
            "place_at_parents",
            5,
            "sets the port of the switches above that leads to this one, which is its bit in"
            " their bitmaps",
        ),
        "Sets which child of the switches above this switch is.",
    ),
)

JOB = (job_register("Sets the job that commands are for."),)
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


def identity_registers_of(params: SwitchParams) -> tuple[Register, ...]:
    """Return the registers that identify the design and tell its sizes."""
    return identity_registers(
        "Identifies the design as a switch of AllReduces.",
        identity(params),
        VERSION,
        ro("ports", 6, "tells the number of ports, with a worker at each"),
        ro("jobs", 6, "tells how many jobs can run side by side"),
        ro("slots", 17, "tells how many AllReduces can be under way, of all jobs together"),
        ro("shadow_built", 1, "tells whether this build has shadow copies of sums"),
    )


def control_registers(params: SwitchParams) -> tuple[Register, ...]:
    """Return the registers of commands and jobs."""
    own = tenant_registers.COMMANDS if params.tenants else COMMANDS
    return (
        commands(*own, pulse("clear_counters", "sets all counters to 0")),
        tenant_registers.STATE if params.tenants else state_register(),
        ACTIVE_JOBS,
        *(tenant_registers.GRANT_REGISTERS if params.tenants else ()),
    )


def job_registers(params: SwitchParams) -> tuple[Register, ...]:
    """Return the registers of the job that commands are for."""
    if not params.tenants:
        return JOB + PLACE_REGISTERS
    more = (tenant_registers.JOB_PARENT, tenant_registers.JOB_RELEASE)
    return tenant_registers.JOB + PLACE_REGISTERS + more


def counter_registers(params: SwitchParams) -> tuple[Register, ...]:
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


@cache
def switch_registers(params: SwitchParams) -> RegisterMap:
    """Return the register map of a switch; the same for all sizes, so that one driver fits all.

    The map of a switch of tenants has more commands, and counters of each tenant; that of a switch
    whose tenants may have a parent also sets the switch's place in their trees.
    """
    more = tenant_registers.tenant_counter_registers() if params.tenants else ()
    if params.parents:
        more += PARENT_REGISTERS
    return RegisterMap(
        "tenant_switch" if params.tenants else "p4sgd_switch",
        identity_registers_of(params)
        + control_registers(params)
        + ADDRESS_REGISTERS
        + job_registers(params)
        + counter_registers(params)
        + more,
        constants=constants(params),
    )


def identity(params: SwitchParams) -> int:
    """Return the number by which a host identifies the design."""
    return tenant_registers.IDENTITY if params.tenants else IDENTITY


def constants(params: SwitchParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": identity(params),
        "version": VERSION,
        "ports": params.ports,
        "jobs": params.jobs,
        "slots": params.slots,
        "shadow_built": int(params.shadow),
    }
