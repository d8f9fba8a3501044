"""A register map as a Python module that drives the hardware by the names of fields.

The module needs nothing but Python's own library: users copy it beside their program. The
simulation loads the same text, so what a user gets is what the tests have run.
"""

import keyword
from typing import Any

from gen.registers.enums import enumerations
from gen.registers.templates import render
from hdl.common.registers import RegisterMap

RESERVED = frozenset({"self", "bus"})  #: names that the module's functions use


def class_name(map: RegisterMap) -> str:
    """``p4sgd_worker`` is driven by ``P4sgdWorker``."""
    return "".join(part.capitalize() for part in map.name.split("_"))


def python_driver(map: RegisterMap) -> str:
    """The text of ``NAME_driver.py``; ValueError if a name of ``map`` cannot be Python's."""
    fields = list(described_fields(map))
    for field in fields:
        if keyword.iskeyword(field["name"]) or field["name"] in RESERVED:
            raise ValueError(f"{map.name}: a Python driver cannot have a field {field['name']!r}")
    return render(
        "python_driver.py.j2",
        name=map.name,
        class_name=class_name(map),
        size=4 * map.words,
        enums=enumerations(map),
        fields=fields,
        literal=literal,
    )


def described_fields(map: RegisterMap) -> list[dict[str, Any]]:
    """Each field with all that the driver must know."""
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
    """``text`` with a capital and a full stop."""
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith(".") else f"{text}."


def literal(text: str) -> str:
    """``text`` as a string of Python's, in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
