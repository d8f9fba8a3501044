"""Runs the bench beside this file, and fails it at once where an output is unknown (X or Z).

A simulator of four values, such as Icarus Verilog, shows what a register or a word of memory holds
that was never written. It may stand in a payload that nobody reads: beside a valid that is 0, and
in the bytes that tkeep or a strobe leaves out. Anywhere else, out of reset, it is an error.
"""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

MANIFEST = Path(__file__).resolve().parents[1] / "manifest.json"
BENCH = "BENCH"  #: environment: the name of the bench's module
CHANNELS = ("aw", "w", "b", "ar", "r", "t")  #: of AXI4 and AXI4-Stream, before each signal's name
LANES = {"data": "keep", "wdata": "wstrb", "tdata": "tkeep"}  #: what says which bytes are there


def valid_of(name: str, names: set[str]) -> str:
    """Return the name of the port that says when somebody reads port ``name``, or ''."""
    bus, _, signal = name.rpartition("_")
    stream = f"{name.partition('_payload')[0]}_valid"
    channels = [f"{bus}_{c}valid" for c in CHANNELS if signal.startswith(c)]
    valids = [valid for valid in (stream, *channels) if valid in names]
    return "" if signal.endswith(("valid", "ready")) or not valids else valids[0]


def lanes_of(name: str, names: set[str]) -> str:
    """Return the name of the port that says which bytes of port ``name`` are read, or ''."""
    bus, _, signal = name.rpartition("_")
    lanes = f"{bus}_{LANES.get(signal, '')}"
    return lanes if lanes in names else ""


def is_known(value: Any, lanes: Any) -> bool:
    """Return whether a port's bits are 0 or 1, of a bus those of the lanes that are used."""
    if value.is_resolvable or lanes is None:
        return value.is_resolvable
    width = len(value) // len(lanes)
    used = (k for k in range(len(lanes)) if lanes[k] != 0)
    return all(value[width * (k + 1) - 1 : width * k].is_resolvable for k in used)


class Watch:
    """Looks at each output of ``dut`` that somebody may read, in each cycle."""

    def __init__(self, dut: Any, ports: list[dict[str, Any]]) -> None:
        names = {port["name"] for port in ports}
        self.dut, self.cycle, self.looks = dut, 0, 0
        self.inputs = [p["name"] for p in ports if p["direction"] == "input" and p["name"] != "clk"]
        outputs = [port["name"] for port in ports if port["direction"] == "output"]
        self.outputs = [
            (name, *(getattr(dut, of(name, names), None) for of in (valid_of, lanes_of)))
            for name in outputs
        ]

    def quiet(self) -> None:
        """Set all inputs to 0, as a simulator of two values does; the bench sets its own."""
        for name in self.inputs:
            getattr(self.dut, name).value = 0

    async def follow(self) -> None:
        """Raise AssertionError in the first cycle, out of reset, that shows what is unknown."""
        while self.dut.rst.value != 1:
            await self.edge()
        while True:
            await self.edge()
            if self.dut.rst.value != 0:
                continue
            self.looks += 1
            for name, valid, lanes in self.outputs:
                value = getattr(self.dut, name).value
                if valid is None or valid.value == 1:
                    known = is_known(value, None if lanes is None else lanes.value)
                    assert known, f"{name} is unknown in cycle {self.cycle}: {value}"

    async def edge(self) -> None:
        """Wait for the next edge of the clock."""
        await RisingEdge(self.dut.clk)
        self.cycle += 1


def watched(test: Any) -> Any:
    """Return the same test, with its outputs watched."""

    async def run(dut: Any) -> None:
        watch = Watch(dut, json.loads(MANIFEST.read_text())["ports"])
        watch.quiet()
        cocotb.start_soon(watch.follow())
        await test.func(dut)
        assert watch.looks, "the bench has not reset the design, so nothing was looked at"

    run.__name__ = run.__qualname__ = test.name
    return cocotb.test()(run)


globals().update(
    (name, watched(test))
    for name, test in vars(import_module(os.environ[BENCH])).items()
    if hasattr(test, "func") and not isinstance(test, type)
)
