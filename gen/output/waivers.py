"""Makes the waivers for Verilator's lint that lie beside a design's Verilog."""

import re

from gen.base.emission.emit import WAIVERS, Emission

PLACED = re.compile(r"^  (?:\(\*.*?\*\) )*(\w+) (?:#\(|\S+ \($)", re.M)
MISSING = """
// The vendor's primitives and IP are in the vendor's libraries.
lint_off -rule MODMISSING
"""
INTERRUPT = """
// Vitis wants this name for a kernel's port.
lint_off -rule SYMRSVDWORD -file "*" -match "*'interrupt'"
"""


def waivers(emission: Emission) -> str:
    """Return what Verilator's -Wall may say of these modules, with the command that uses it."""
    text = WAIVERS.read_text().replace("TOP", emission.top.name)
    own = emission.modules.keys()
    outside = [m.name for m in emission.modules.values() if not own >= {*PLACED.findall(m.verilog)}]
    lines = [f'lint_off -rule UNDRIVEN -file "*/{name}.v"\n' for name in outside]
    if any(port.name == "interrupt" for port in emission.top.ports):
        text += INTERRUPT
    return text + "".join([MISSING, *lines] if lines else [])
