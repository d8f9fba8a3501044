"""Adds up amounts of an FPGA's resources."""

from dataclasses import astuple, dataclass, fields

#: kinds of resources, as people call them
KINDS = {
    "lut": "LUT",
    "lutram": "LUTRAM",
    "ff": "FF",
    "carry": "CARRY8",
    "dsp": "DSP",
    "bram18": "BRAM18",
    "uram": "URAM",
}


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Holds an amount of each kind of resource; sums and multiples apply to every kind."""

    lut: int = 0  #: LUTs that compute
    lutram: int = 0  #: LUTs that are memory or shift registers
    ff: int = 0
    carry: int = 0  #: CARRY8, eight bits of a carry chain
    dsp: int = 0  #: DSP48E2
    bram18: int = 0  #: halves of a RAMB36
    uram: int = 0  #: URAM288

    @property
    def luts(self) -> int:
        """Add up the LUTs that are logic and those that are memory."""
        return self.lut + self.lutram

    def __add__(self, other: "Resources") -> "Resources":
        return Resources(**{name: a + b for name, a, b in pairs(self, other)})

    def __sub__(self, other: "Resources") -> "Resources":
        return Resources(**{name: a - b for name, a, b in pairs(self, other)})

    def __mul__(self, times: int) -> "Resources":
        return Resources(**{name: times * a for name, a, _ in pairs(self, self)})

    __rmul__ = __mul__


def pairs(first: Resources, second: Resources) -> list[tuple[str, int, int]]:
    """Return the name of each kind of resource, with both amounts of it."""
    names = [field.name for field in fields(Resources)]
    return list(zip(names, astuple(first), astuple(second), strict=True))
