"""Holds what the tests of all guides share: a check of the text, and a host on real registers."""

import re

from tests.gen.guides.snic_from_the_guide import Registers


def check_text(text, registers):
    """Check that nothing of a template is left, and that all fields are where they are told to be.

    Prose is searched; code may have the word None.
    """
    prose = re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)
    assert not re.search(r"\{[{%]|None|\bTODO\b|\bMISSING\b", prose)
    fields = re.findall(r"^\| (0x\w+ \| `\w+` \| `\w+`: .*?) \|", text, re.MULTILINE)
    assert len(fields) == len({*fields})
    assert Registers(text).places == {
        field.name: (address, offset, field.bits)
        for address, register in registers.placed
        for offset, field in zip(register.offsets, register.fields, strict=True)
    }


def numbers_of(rows):
    """Return the numbers of a table of the guide by their names."""
    return {name: number for number, name, *_ in rows}


class RegisterHost:
    """Reads and writes by ``bus``, an AXI4-Lite master, the registers of a guide, ``registers``."""

    async def make(self, accesses):
        """Write registers."""
        for address, word in accesses:
            await self.bus.write(address, word.to_bytes(4, "little"))

    async def read(self, field):
        """Read a field, whose register has one word or two."""
        address, first, bits = self.registers.places[field]
        answer = await self.bus.read(address, 8 if first + bits > 32 else 4)
        return int.from_bytes(answer.data, "little") >> first & (1 << bits) - 1


def octets_of(reported):
    """Return the bytes of a frame of which the guide shows those that are not zero."""
    shown = bytes.fromhex("".join(line.partition(":")[2] for line in reported["lines"]))
    return shown[: reported["bytes"]].ljust(reported["bytes"], b"\0")
