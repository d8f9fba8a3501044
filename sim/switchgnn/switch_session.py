"""A SwitchGNN switch by itself, driven as hard as its ports allow."""

import json
from dataclasses import dataclass
from pathlib import Path

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.emissions import emission_of
from sim.harness.session import CLOCK_MHZ, Listener, Result, Session
from sim.harness.verilate import Build, build
from sim.harness.verilator import Simulation, run
from sim.harness.workload import Workload, setting
from sim.switchgnn.switch_in_simulator import RESULTS


@dataclass(frozen=True, kw_only=True)
class GnnSwitchWorkload(Workload):
    """Features of all workers, as many as the ports take."""

    seed: int = setting(1, "Number that decides which features are sent.", least=0)


class GnnSwitchSession(Session):
    """Latency of a sum; rows, sums and features a cycle. Every sum is checked."""

    workload = GnnSwitchWorkload
    counted = {
        "latency_cycles": "from the last beat of the feature that completes a sum to its head",
        "rows_per_cycle": "with long lists, in cycles in which a feature waits for its rows",
        "results_per_cycle": "with all aggregators complete at once, and all ports taking",
        "features_per_cycle": "with lists of a row, each of which completes a sum that leaves",
        "features_per_second": "with lists of a row, at the clock",
    }
    maximise = ("features_per_second",)

    params: GnnSwitchParams
    asked: GnnSwitchWorkload

    @classmethod
    def build(cls, hardware: GnnSwitchParams) -> Build:
        """The simulator of the switch alone."""
        return build(emission_of(GnnSwitch(hardware)), optimise=True)

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Send features from all ports; the sums are checked on the way."""
        folder.mkdir(parents=True, exist_ok=True)
        results = folder / "results.json"
        run(
            simulator,
            Simulation(
                test_module="sim.switchgnn.switch_in_simulator",
                params=self.params,
                component=GnnSwitch,
                env={RESULTS: str(results)},
            ),
            seed=self.asked.seed,
            folder=folder,
        )
        found = json.loads(results.read_text())
        rates = {name: found[name][0] / found[name][1] for name in ("rows", "results", "features")}
        return Result(
            figures={
                "latency_cycles": max(found["latencies"]),
                **{f"{name}_per_cycle": rate for name, rate in rates.items()},
                "features_per_second": rates["features"] * clock_mhz * 1e6,
            },
            details={"least_latency_cycles": min(found["latencies"]), "counts": found},
        )
