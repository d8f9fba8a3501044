"""The enumerations of a register map by name: documents and programs declare each once."""

from enum import IntEnum

from hdl.common.registers import RegisterMap


def enumerations(map: RegisterMap) -> dict[str, type[IntEnum]]:
    """Every enumeration of ``map``; ValueError if two different ones share a name."""
    found: dict[str, type[IntEnum]] = {}
    for register in map.registers:
        for field in register.fields:
            if field.enum is None:
                continue
            other = found.setdefault(field.enum.__name__, field.enum)
            if dict(other.__members__) != dict(field.enum.__members__):
                raise ValueError(f"{map.name}: two enumerations are called {other.__name__}")
    return found


def enumeration_bits(map: RegisterMap, name: str) -> int:
    """The width of the narrowest field that takes enumeration ``name``."""
    return min(
        field.bits
        for register in map.registers
        for field in register.fields
        if field.enum is not None and field.enum.__name__ == name
    )
