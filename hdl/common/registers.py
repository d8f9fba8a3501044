"""Declares registers once: addresses, layouts and documentation come from one description."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from amaranth.lib import data

WORD_BITS = 32
WORD_BYTES = WORD_BITS // 8
ACCESSES = ("rw", "ro", "pulse")


def check_name(kind: str, name: str) -> None:
    """Raise ValueError unless ``name`` can be a name in Python, Verilog and C."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"{kind} must be named in lower case, words joined by one _: {name!r}")


class Names(NamedTuple):
    """Names of a field's values, as software sees them."""

    name: str  #: name of the set of values
    members: tuple[tuple[str, int], ...]  #: pairs of a name and its value


def names_of(enum: type[Enum]) -> Names:
    """Return the names and values of an enumeration, of Amaranth's or of Python's."""
    return Names(enum.__name__, tuple((item.name, int(item.value)) for item in enum))


@dataclass(frozen=True)
class Field:
    """Describes a field of a register. Its name is unique in the whole map."""

    name: str
    bits: int  #: width, 1..32; 1..64 in a read-only register
    access: str  #: rw: software sets it; ro: hardware sets it; pulse: high for a cycle when written
    doc: str
    init: int = 0  #: value after reset of a field that software sets
    enum: Names | None = None  #: names of the field's values

    def __post_init__(self) -> None:
        check_name("a field", self.name)
        if self.access not in ACCESSES:
            raise ValueError(f"{self.name}: access must be rw, ro or pulse: {self.access!r}")
        most = 2 * WORD_BITS if self.access == "ro" else WORD_BITS
        if not 1 <= self.bits <= most:
            raise ValueError(
                f"{self.name}: a field with access {self.access} has 1 to {most} bits: {self.bits}"
            )
        if not 0 <= self.init < 1 << self.bits:
            raise ValueError(f"{self.name}: init {self.init} does not fit {self.bits} bits")
        if self.init and self.access != "rw":
            raise ValueError(f"{self.name}: only a field with access rw has an init")
        if self.enum and not all(0 <= value < 1 << self.bits for _, value in self.enum.members):
            raise ValueError(f"{self.name}: {self.enum.name} does not fit {self.bits} bits")


def ro(name: str, bits: int, doc: str, **kwargs) -> Field:
    """Return a field that the hardware reports and the host reads."""
    return Field(name, bits, "ro", doc, **kwargs)


def rw(name: str, bits: int, doc: str, **kwargs) -> Field:
    """Return a field that the host writes and reads."""
    return Field(name, bits, "rw", doc, **kwargs)


def pulse(name: str, doc: str) -> Field:
    """Return a field of one bit that acts when the host writes a one: a command."""
    return Field(name, 1, "pulse", doc)


@dataclass(frozen=True, init=False)
class Register:
    """Describes fields that share a word, the first from bit 0; read-only ones may have two."""

    name: str
    doc: str
    fields: tuple[Field, ...]

    def __init__(self, name: str, doc: str, *fields: Field) -> None:
        check_name("a register", name)
        if not fields:
            raise ValueError(f"{name}: a register needs a field")
        self.__dict__.update(name=name, doc=doc, fields=fields)
        most = 2 * WORD_BITS if self.read_only else WORD_BITS
        if self.bits > most:
            kind = "read-only fields" if self.read_only else "fields that are not all read-only"
            raise ValueError(f"{self.name}: {kind} take at most {most} bits: {self.bits}")

    @property
    def read_only(self) -> bool:
        """Return whether a write of the register is an error."""
        return all(field.access == "ro" for field in self.fields)

    @property
    def bits(self) -> int:
        """Return the width of all fields together."""
        return sum(field.bits for field in self.fields)

    @property
    def words(self) -> int:
        """Return the number of words of the register, one or two; the low word is the first."""
        return -(-self.bits // WORD_BITS)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Return the lowest bit of each field."""
        return tuple(sum(f.bits for f in self.fields[:k]) for k in range(len(self.fields)))


def wide(name: str, doc: str, bits: int = 2 * WORD_BITS) -> tuple[Register, ...]:
    """Return registers NAME_low and NAME_high for a number of 33 to 64 bits that software sets."""
    return tuple(
        Register(
            f"{name}_{part}",
            doc,
            rw(f"{name}_{part}", width, f"{doc} Holds bits {low}..{high}."),
        )
        for part, width, low, high in (
            ("low", WORD_BITS, 0, WORD_BITS - 1),
            ("high", bits - WORD_BITS, WORD_BITS, bits - 1),
        )
    )


class Placed(NamedTuple):
    """Pairs a register with its byte address."""

    address: int
    register: Register


@dataclass(frozen=True)
class RegisterMap:
    """Places registers at consecutive words in the order given, from address 0."""

    name: str
    registers: tuple[Register, ...]
    address_bits: int = 12  #: width of a byte address on the bus
    #: values of fields that the hardware reports and that never change; not compared for equality
    constants: Mapping[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        check_name("a map", self.name)
        if not self.registers:
            raise ValueError(f"{self.name}: a map needs a register")
        for kind, names in (
            ("registers", [register.name for register in self.registers]),
            ("fields", [each.name for r in self.registers for each in r.fields]),
        ):
            twice = [a for a, b in pairwise(sorted(names)) if a == b]
            if twice:
                raise ValueError(f"{self.name}: two {kind} are called {twice[0]}")
        if not 3 <= self.address_bits <= 32 or self.words * WORD_BYTES > 1 << self.address_bits:
            raise ValueError(
                f"{self.name}: {self.words} words need from"
                f" {max(3, (self.words * WORD_BYTES - 1).bit_length())} to 32 address bits:"
                f" {self.address_bits}"
            )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the map's name, unique in a design."""
        return self.name

    @property
    def words(self) -> int:
        """Return the number of words that are mapped."""
        return sum(register.words for register in self.registers)

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """Return the registers with their addresses."""
        placed, address = [], 0
        for register in self.registers:
            placed.append(Placed(address, register))
            address += register.words * WORD_BYTES
        return tuple(placed)

    def address(self, name: str) -> int:
        """Return the byte address of register ``name``, of its low word if it has two."""
        for address, register in self.placed:
            if register.name == name:
                return address
        raise KeyError(f"{self.name} has no register {name}")

    def reset(self, item: Field) -> int | None:
        """Return a field's value after a reset; None if that depends on the hardware."""
        return self.constants.get(item.name) if item.access == "ro" else item.init

    def layout(self, *accesses: str) -> data.StructLayout:
        """Return the layout of all fields of these kinds, in order."""
        return data.StructLayout(
            {f.name: f.bits for r in self.registers for f in r.fields if f.access in accesses}
        )

    @property
    def control(self) -> data.StructLayout:
        """Describe the bundle of fields that software writes."""
        return self.layout("rw", "pulse")

    @property
    def status(self) -> data.StructLayout:
        """Describe the bundle of fields that hardware reports."""
        return self.layout("ro")

    def describe(self) -> dict[str, Any]:
        """Return everything that software needs to know of the map, in types that JSON can hold."""
        return {
            "name": self.name,
            "bytes": self.words * WORD_BYTES,
            "registers": [
                {
                    "name": register.name,
                    "address": address,
                    "words": register.words,
                    "doc": register.doc,
                    "fields": [
                        describe_field(item, offset, self.reset(item))
                        for item, offset in zip(register.fields, register.offsets, strict=True)
                    ],
                }
                for address, register in self.placed
            ],
        }


def describe_field(item: Field, offset: int, reset: int | None) -> dict[str, Any]:
    """Return one field as :meth:`RegisterMap.describe` shows it."""
    described = {
        "name": item.name,
        "offset": offset,
        "bits": item.bits,
        "access": item.access,
        "init": item.init,
        "reset": reset,
        "doc": item.doc,
    }
    if item.enum:
        described["values"] = dict(item.enum.members)
    return described
