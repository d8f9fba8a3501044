"""Makes the C++ of a simulator's ``main``: cocotb's own, changed where it does not serve."""

from importlib.metadata import version
from pathlib import Path

from sim.harness.build_tools import BuildError, cocotb_folder

MAIN = "verilator.cpp"  #: file name of cocotb's main program
#: a hierarchical block goes with ``final``, and what it has counted for coverage goes with it, so
#: coverage is written before: of what by what it is replaced
AROUND_BLOCKS = {"top->final();\n\n    wrap_up();\n": "wrap_up();\n\n    top->final();\n"}
#: what drives the clock inside the main loop, before or in place of what stands there
OWN_CLOCK = {
    before: f"{code}{before}"
    for before, code in {
        "void wrap_up() {": Path(__file__).with_name("clock.h").read_text(),
        "VerilatedVpi::callCbs(cbStartOfSimulation);": "driven.port = clock_of(top.get(), 0);",
        "VerilatedVpi::callTimedCbs();": "driven.act(main_time);",
    }.items()
} | {
    "VerilatedVpi::callCbs(cbNextSimTime);": "if (VerilatedVpi::callCbs(cbNextSimTime))",
    "(next_time_cocotb, next_time_timing)": "({next_time_cocotb, next_time_timing, driven.next})",
}


def main_program(*, covers_blocks: bool = False, own_clock: bool = False) -> str:
    """Return the C++ of ``main``; BuildError if cocotb's is not the one that is changed here.

    ``covers_blocks``: coverage of hierarchical blocks is counted. ``own_clock``: the simulation is
    long, and its clock is driven without a callback.
    """
    text = (cocotb_folder() / "share" / "lib" / "verilator" / MAIN).read_text()
    changes = (AROUND_BLOCKS if covers_blocks else {}) | (OWN_CLOCK if own_clock else {})
    for old, new in changes.items():
        if text.count(old) != 1:
            raise BuildError(f"cocotb {version('cocotb')}: its {MAIN} has changed: {old}")
        text = text.replace(old, new)
    return text
