"""Writes a register map as a Python module that drives the hardware by the names of fields.

The module needs nothing but Python's own library: users copy it beside their program. The
simulation loads the same text, so what a user gets is what the tests have run.
"""

import keyword
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gen.base.registers.enums import enumerations
from gen.base.templates import render
from hdl.common.registers import RegisterMap

HERE = Path(__file__).parent

RESERVED = frozenset({"self", "bus"})  #: names that the module's functions use


def class_name(name: str) -> str:
    """Return the name of the class of a map or a design: ``p4sgd_worker`` gives ``P4sgdWorker``."""
    return "".join(part.capitalize() for part in name.split("_"))


def python_driver(map: RegisterMap) -> str:
    """Return the text of ``NAME_driver.py``; raise ValueError if a name cannot be Python's."""
    fields = list(described_fields(map))
    for field in fields:
        if keyword.iskeyword(field["name"]) or field["name"] in RESERVED:
            raise ValueError(f"{map.name}: a Python driver cannot have a field {field['name']!r}")
    return render(
        HERE,
        "python_driver.py.j2",
        name=map.name,
        class_name=class_name(map.name),
        size=4 * map.words,
        enums=enumerations(map),
        fields=fields,
        literal=literal,
    )


def driver_module(map: RegisterMap) -> ModuleType:
    """Load the generated driver of ``map``, as a user's program would import it."""
    return load(f"{map.name}_driver", python_driver(map))


@cache
def load(name: str, text: str) -> ModuleType:
    """Make a module called ``name`` of this text."""
    module = ModuleType(name)
    exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    return module


def driver_of(map: RegisterMap, bus: Any = None) -> Any:
    """Return an object of the generated driver's class, on ``bus`` if it has one."""
    return getattr(driver_module(map), class_name(map.name))(bus)


def described_fields(map: RegisterMap) -> list[dict[str, Any]]:
    """Return each field with all that the driver must know of it."""
    return [
        {
            "name": field.name,
            "register": register.name,
            "address": address,
            "words": register.words,
            "offset": offset,
            "bits": field.bits,
            "access": field.access,
            "init": field.init,
            "enum": field.enum.name if field.enum else None,
            "doc": field.doc,
            "about": f"{register.doc} {sentence(field.doc)}".strip(),
        }
        for address, register in map.placed
        for field, offset in zip(register.fields, register.offsets, strict=True)
    ]


def sentence(text: str) -> str:
    """Return ``text`` with a capital first letter and a full stop."""
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith(".") else f"{text}."


def literal(text: str) -> str:
    """Return ``text`` as a Python string in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
