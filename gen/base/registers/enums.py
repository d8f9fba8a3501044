"""Collects the enumerations of a register map by name: documents and programs declare each once."""

from enum import IntEnum
from typing import cast

from hdl.common.registers import Names, RegisterMap


def enumerations(map: RegisterMap) -> dict[str, type[IntEnum]]:
    """Return every enumeration of ``map``; raise ValueError if two different ones share a name."""
    result: dict[str, Names] = {}
    for register in map.registers:
        for field in register.fields:
            if field.enum and result.setdefault(field.enum.name, field.enum) != field.enum:
                raise ValueError(f"{map.name}: two enumerations are called {field.enum.name}")
    return {
        name: cast(type[IntEnum], IntEnum(name, dict(names.members)))
        for name, names in result.items()
    }


def enumeration_bits(map: RegisterMap, name: str) -> int:
    """Return the width of the narrowest field that takes enumeration ``name``."""
    return min(
        field.bits
        for register in map.registers
        for field in register.fields
        if field.enum is not None and field.enum.name == name
    )
