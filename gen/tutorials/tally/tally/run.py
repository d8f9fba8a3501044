"""Runs a tally: events go in, and the count that a host reads is compared with the golden model's.

A workload says what can be asked: its fields become options of ``ingather count`` and names that a
sweep may use. A session names the hardware and the module whose cocotb tests drive it, here this
one, and turns what they tell into figures, a verdict and curves.
"""

from dataclasses import dataclass

import cocotb

from sim.harness.bench import Bench
from sim.harness.in_simulator import report, workload_in_simulator
from sim.harness.measuring import MeasuringSession
from sim.harness.register_driver import RegisterDriver
from sim.harness.session import Result
from sim.harness.workload import Workload, setting
from tally.golden import count_of
from tally.hardware import Tally, tally_registers


@dataclass(frozen=True, kw_only=True)
class CountWorkload(Workload):
    """Says how many events to count."""

    events: int = setting(10, "Count this many events.", least=0, most=1000)


class CountSession(MeasuringSession):
    """Counts events on the Verilog of a tally."""

    workload = CountWorkload
    component = Tally
    test_module = "tally.run"
    counted = {"count": "what the host reads", "cycles": "clock cycles of the run"}
    calculated = {"wraps": "times that the count wraps"}
    maximise = ("count",)

    @classmethod
    def calculate(cls, params, requested):
        return {"wraps": requested.events >> params.bits}

    def result(self, result, clock_hz):
        count, expected = result["read"], count_of(self.requested.events, self.params.bits)
        cycles = list(range(self.requested.events))
        return Result(
            figures={"count": count, "cycles": self.requested.events}
            | self.calculate(self.params, self.requested),
            compared="the count that the host reads equals the golden model's",
            difference="" if count == expected else f"{count} is not {expected}",
            curves={"count": {"cycle": cycles, "count": result["counts"]}},
        )


@cocotb.test()
async def counts(dut):
    """Raise ``event`` for as many cycles as the session asks; then the host reads the count."""
    bench = await Bench(dut).begin()
    host = RegisterDriver(dut, "axil", tally_registers(bench.params))
    shown = bench.record("event", "count")
    bench.set(event=1)
    await bench.wait(workload_in_simulator(CountWorkload).events)
    bench.set(event=0)
    report({"read": await host.read("events"), "counts": [item["count"] for item in shown.beats]})
