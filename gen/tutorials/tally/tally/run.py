"""Runs a tally: a number of events goes in, and its count is compared with what it must be.

A workload says what can be asked: its fields become options of ``ingather count`` and names that a
sweep may use. A session builds the simulator, runs it, and returns figures, a verdict and curves.
"""

import json
import os
from dataclasses import dataclass

import cocotb
from cocotb.triggers import RisingEdge

from sim.harness.session import Result, Session
from sim.harness.streams import start
from sim.harness.verilate import build
from sim.harness.verilator import Simulation, emission_of, run
from sim.harness.workload import Workload, setting
from tally.hardware import Tally


@dataclass(frozen=True, kw_only=True)
class CountWorkload(Workload):
    """Says how many events to count."""

    events: int = setting(10, "Count this many events.", least=0, most=1000)


class CountSession(Session):
    """Counts events on the Verilog of a tally."""

    workload = CountWorkload
    counted = {"count": "what the tally counted", "cycles": "clock cycles of the run"}
    calculated = {"wraps": "times that the count wraps"}
    maximise = ("count",)

    @classmethod
    def build(cls, hardware):
        return build(emission_of(Tally(hardware)))

    @classmethod
    def calculate(cls, params, asked):
        return {"wraps": asked.events >> params.bits}

    def run(self, simulator, folder, listener=None, clock_mhz=250.0):
        events, out = self.asked.events, folder / "counts.json"
        where = {"TALLY_EVENTS": str(events), "TALLY_OUT": str(out.resolve())}
        run(
            simulator,
            Simulation(test_module="tally.run", params=self.params, component=Tally, env=where),
            folder=folder,
        )
        counts = json.loads(out.read_text())
        expected = events % (1 << self.params.bits)
        return Result(
            figures={"count": counts[-1], "cycles": events, "wraps": events >> self.params.bits},
            compared="the count equals the number of events",
            difference="" if counts[-1] == expected else f"{counts[-1]} is not {expected}",
            curves={"count": {"cycle": list(range(len(counts))), "count": counts}},
        )


@cocotb.test()
async def counts(dut):
    """Raise ``event`` for as many cycles as the session asks; write the counts as JSON."""
    dut.event.value = 0
    await start(dut)
    found = [int(dut.count.value)]
    dut.event.value = 1
    for _ in range(int(os.environ["TALLY_EVENTS"])):
        await RisingEdge(dut.clk)
        found.append((found[-1] + 1) % (1 << len(dut.count)))
    dut.event.value = 0
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    found[-1] = int(dut.count.value)
    with open(os.environ["TALLY_OUT"], "w") as file:
        json.dump(found, file)
