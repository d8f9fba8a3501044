"""Reports which primitives a module's memories were mapped to, and which they ask for."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gen.base.emission.memories import declared
from gen.synth.cells import BLOCK_RAM, LUTRAM, URAM

#: ram_style -> the kind of cell it asks for
INTENDED = {"ultra": "uram", "block": "bram", "distributed": "lutram", "registers": "ff"}
#: bits from which on a memory of a style must be of its kind; below, LUTs do as well
BIG_ENOUGH = {"ultra": 65_536, "block": 4_096}


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """Describes a memory array and the primitives it was mapped to."""

    name: str
    bits: int  #: width of an entry
    depth: int  #: entries
    style: str  #: ram_style, "auto" where none is asked for
    became: str  #: "uram", "bram", "lutram" or "ff"
    cells: Mapping[str, int]  #: primitives by type

    @property
    def as_intended(self) -> bool:
        """Return whether it is of the kind asked for, or too small for that to matter."""
        if self.bits * self.depth < BIG_ENOUGH.get(self.style, 0):
            return True
        return self.became == INTENDED.get(self.style, self.became)

    def describe(self) -> dict[str, Any]:
        """Return the memory as an object of JSON."""
        return asdict(self) | {"as_intended": self.as_intended}


def memories_of(rtlil: str, cells: Mapping[str, Any]) -> tuple[MemoryUse, ...]:
    """Return the memories of a module and what they are among its mapped ``cells``.

    Yosys names the primitives of a memory after it: ``words.0.3`` is a part of ``words``.
    """
    result = []
    for name, bits, depth, style in declared(rtlil):
        part = re.compile(re.escape(name) + r"\.\d+\.\d+(\.\S+)?")
        used: dict[str, int] = {}
        for cell_name, cell in cells.items():
            if part.fullmatch(cell_name) and kind_of(cell["type"]) is not None:
                used[cell["type"]] = used.get(cell["type"], 0) + 1
        kinds = {kind_of(cell_type) for cell_type in used}
        became = next((kind for kind in ("uram", "bram", "lutram") if kind in kinds), "ff")
        result.append(
            MemoryUse(name=name, bits=bits, depth=depth, style=style, became=became, cells=used)
        )
    return tuple(result)


def kind_of(cell_type: str) -> str | None:
    """Return the kind of memory that a primitive is; None if it is none."""
    if URAM.fullmatch(cell_type):
        return "uram"
    if BLOCK_RAM.fullmatch(cell_type):
        return "bram"
    return "lutram" if cell_type in LUTRAM else None
