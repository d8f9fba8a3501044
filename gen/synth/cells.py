"""Says what each primitive of UltraScale+ uses that a mapped netlist can be made of."""

import re
from collections.abc import Mapping

from gen.synth.resources import Resources

#: LUTs that a distributed memory of a kind takes
LUTRAM = {
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32X16DR8": 8,
    "RAM64X8SW": 8,
    "RAM16X1D": 2,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM16X1S": 1,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
}
LUT = re.compile(r"LUT[1-6](_2)?")
SHIFT_REGISTER = re.compile(r"SRL(C?16E?|C32E)")
FLIP_FLOP = re.compile(r"FD[RSCP]E|LD[CP]E")
DSP = re.compile(r"DSP48E2?")
URAM = re.compile(r"URAM288(_BASE)?")
BLOCK_RAM = re.compile(r"RAMB(18|36)E2")
#: wiring of slices, clocks and constants, which costs nothing that is counted
FREE = re.compile(r"INV|MUXF[789]|BUFG\w*|GND|VCC|\$scopeinfo")


def use_of(kind: str) -> Resources | None:
    """Return what one primitive of a kind uses, except carries; None if the kind is not known.

    A CARRY4 is half a CARRY8, which amounts of one primitive cannot say: see ``use_of_cells``.
    """
    if LUT.fullmatch(kind):
        return Resources(lut=1)
    if kind in LUTRAM or SHIFT_REGISTER.fullmatch(kind):
        return Resources(lutram=LUTRAM.get(kind, 1))
    if FLIP_FLOP.fullmatch(kind):
        return Resources(ff=1)
    if DSP.fullmatch(kind):
        return Resources(dsp=1)
    if URAM.fullmatch(kind):
        return Resources(uram=1)
    if block := BLOCK_RAM.fullmatch(kind):
        return Resources(bram18=int(block[1]) // 18)
    return Resources() if FREE.fullmatch(kind) else None


def use_of_cells(cells: Mapping[str, int]) -> tuple[Resources, dict[str, int]]:
    """Return what counted primitives use in all, and those of ``cells`` of unknown kinds."""
    total, unknown = Resources(), {}
    halves = 2 * cells.get("CARRY8", 0) + cells.get("CARRY4", 0)
    for kind, count in cells.items():
        if kind in ("CARRY4", "CARRY8"):
            continue
        use = use_of(kind)
        if use is None:
            unknown[kind] = count
        else:
            total += count * use
    return total + Resources(carry=-(-halves // 2)), unknown
