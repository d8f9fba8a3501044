"""Declares the registers of a switch of AllReduces of many numbers."""

from functools import cache

from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.register_parts import commands, identity_registers
from hdl.common.registers import Register, RegisterMap, pulse, ro
from hdl.switch.job_registers import (
    ACTIVE_JOBS,
    ADDRESS_REGISTERS,
    JOB_COMMANDS,
    PLACE_REGISTERS,
    counter_registers,
    job_register,
    state_register,
)

IDENTITY = 0x41525357  #: the letters ARSW
VERSION = 1


@cache
def switch_registers(params: AllReduceSwitchParams) -> RegisterMap:
    """Return the register map of a switch; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "allreduce_switch",
        (
            *identity_registers(
                "Identifies the design as a switch of AllReduces of many numbers.",
                IDENTITY,
                VERSION,
                ro("ports", 6, "tells the number of ports, with a worker at each"),
                ro("jobs", 6, "tells how many jobs can run side by side"),
                ro("banks", 6, "tells the number of banks"),
            ),
            Register(
                "capacity",
                "Tells how much the slots hold.",
                ro("slots", 17, "tells how many AllReduces can be under way, of all jobs together"),
                ro("numbers", 12, "tells how many numbers a frame may have"),
            ),
            commands(*JOB_COMMANDS, pulse("clear_counters", "sets all counters to 0")),
            state_register(),
            ACTIVE_JOBS,
            *ADDRESS_REGISTERS,
            job_register("Sets the job that commands are for."),
            *PLACE_REGISTERS,
            *counter_registers(params),
        ),
        constants=constants(params),
    )


def constants(params: AllReduceSwitchParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "ports": params.ports,
        "jobs": params.jobs,
        "banks": params.banks,
        "slots": params.slots,
        "numbers": params.most_numbers,
    }
