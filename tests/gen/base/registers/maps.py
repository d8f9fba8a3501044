"""Has the register maps of all designs, and a small one with a field of every kind."""

from enum import IntEnum

from hdl.common.registers import Field, Register, RegisterMap, names_of
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.p4sgd.worker_params import WorkerParams


class Colour(IntEnum):
    RED = 0
    GREEN = 3


#: names that are words of SystemRDL's and C's, quotes, a wide pulse, words across a border
ODD = RegisterMap(
    "odd",
    (
        Register(
            "signal",
            'Pulses beside "levels".',
            Field("start", 1, "pulse", ""),
            Field("level", 3, "rw", "a back\\slash", init=5),
            Field("running", 1, "ro", "50 % <b>"),
            Field("colour", 2, "rw", "of the shed", init=3, enum=names_of(Colour)),
            Field("kind", 7, "pulse", "wide"),
        ),
        Register("int", "A whole word.", Field("rw", 32, "rw", "", init=0xABCDEF01)),
        Register("time", "Two words.", Field("double", 64, "ro", "")),
        Register(
            "errors",
            "Fields across the words' border.",
            Field("late", 20, "ro", ""),
            Field("lost", 30, "ro", ""),
        ),
        Register("flag", "One bit.", Field("enum", 1, "rw", "")),
    ),
    address_bits=8,
)

MAPS = {
    map.name: map
    for map in (
        worker_registers(WorkerParams()),
        switch_registers(SwitchParams()),
        switch_registers(TenantSwitchParams()),
        snic_registers(SnicParams()),
        ODD,
    )
}


def placed_fields(map):
    """Return address, register, field and offset of all fields."""
    for address, register in map.placed:
        for field, offset in zip(register.fields, register.offsets, strict=True):
            yield address, register, field, offset
