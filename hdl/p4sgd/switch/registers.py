"""Declares the switch's registers, once for the hardware, the driver and the documentation."""

from functools import cache

from hdl.common.register_parts import address_registers, commands, identity_registers, single
from hdl.common.registers import Register, RegisterMap, pulse, ro, rw
from hdl.p4sgd.switch import tenant_registers
from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.job_registers import (
    ACTIVE_JOBS,
    ADDRESS_REGISTERS,
    JOB_COMMANDS,
    PLACE_REGISTERS,
    counter_registers,
    job_register,
    state_register,
)

IDENTITY = 0x50345357  #: the letters P4SW
VERSION = 4

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
    own = tenant_registers.COMMANDS if params.tenants else JOB_COMMANDS
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
