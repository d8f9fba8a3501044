"""Measures a SwitchGNN switch by itself, driven as hard as its ports allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.verilate import Build, build
from sim.harness.verilator import emission_of
from sim.harness.workload import Workload, setting
from sim.switchgnn.switch_on_rams import arguments_of, sources_of, switch_of


@dataclass(frozen=True, kw_only=True)
class GnnSwitchWorkload(Workload):
    """Asks for features of all workers, as many as the ports take."""

    seed: int = setting(1, "Draw the features with this seed.", least=0)


class GnnSwitchSession(MeasuringSession):
    """Measures the latency of a sum, and rows, sums and features a cycle; checks every sum."""

    workload = GnnSwitchWorkload
    component = GnnSwitch
    test_module = "sim.switchgnn.switch_in_simulator"
    counted = {
        "latency_cycles": "from the last beat of the feature that completes a sum to its head",
        "rows_per_cycle": "with long lists, in cycles in which a feature waits for its rows",
        "results_per_cycle": "with all aggregators complete at once, and all ports taking",
        "features_per_cycle": "with lists of a row, each of which completes a sum that leaves",
        "features_per_second": "with lists of a row, at the clock",
    }
    maximise = ("features_per_second",)

    @classmethod
    def build(cls, hardware: GnnSwitchParams) -> Build:
        """Build the simulator of the switch, with the memory of its tables if it has one."""
        emission = emission_of(switch_of(hardware))
        return build(emission, **cls.options, **sources_of(hardware))

    def plusargs(self, folder: Path) -> Sequence[str]:
        """Return the arguments that fill the memory of tables."""
        return arguments_of(self.params, folder.absolute())

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return the result; the sums have been checked on the way."""
        rates = {
            name: result[name][0] / result[name][1] for name in ("rows", "results", "features")
        }
        return Result(
            figures={
                "latency_cycles": max(result["latencies"]),
                **{f"{name}_per_cycle": rate for name, rate in rates.items()},
                "features_per_second": rates["features"] * clock_hz,
            },
            compared="every sum equals that of the features that were sent",
            details={"least_latency_cycles": min(result["latencies"]), "counts": result},
        )
