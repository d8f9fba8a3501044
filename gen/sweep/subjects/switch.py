"""A P4SGD switch by itself, driven as hard as its ports allow."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.sweep.subject import SimulatedSubject


@dataclass(frozen=True, kw_only=True)
class SwitchWorkload:
    """What the ports send."""

    seed: int = 1  #: of the slots that are drawn


class SwitchSubject(SimulatedSubject):
    """Latency and packets a cycle."""

    workload = SwitchWorkload
    hardware = "hdl.p4sgd.switch.switch"
    counted = {
        "latency_cycles": "from the last packet of a slot to the sum on the last port",
        "packets_per_cycle": "with all ports sending in every cycle, on random slots",
        "packets_per_cycle_single": "likewise, all on one slot",
        "packets_per_second": "on random slots, at the clock",
    }
    maximise = ("packets_per_second",)

    def simulated(self, params: Any, workload: Any) -> Any:
        """The switch alone."""
        return params

    def build(self, simulated: Any) -> Any:
        """Its simulator."""
        from hdl.p4sgd.switch.switch import Switch
        from sim.p4sgd.train import build_system

        return build_system(Switch(simulated), [])

    def measure(
        self, params: Any, workload: Any, build: Any, folder: Path, clock_mhz: float
    ) -> dict[str, float]:
        """Run the benchmark of the switch."""
        from hdl.p4sgd.switch.switch import Switch
        from sim.harness.verilator import run
        from sim.p4sgd.bench.switch_in_simulator import RESULTS

        results = folder / "results.json"
        run(
            build,
            "sim.p4sgd.bench.switch_in_simulator",
            params=params,
            component=Switch,
            seed=workload.seed,
            env={RESULTS: str(results)},
            folder=folder,
        )
        found = json.loads(results.read_text())
        random, single = (found[name][0] / found[name][1] for name in ("random", "single"))
        return {
            "latency_cycles": max(found["latencies"]),
            "packets_per_cycle": random,
            "packets_per_cycle_single": single,
            "packets_per_second": random * clock_mhz * 1e6,
        }

    def calculate(
        self, params: Any, workload: Any, counted: Mapping[str, float]
    ) -> dict[str, float]:
        """Nothing."""
        return {}
