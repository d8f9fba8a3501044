"""A P4SGD switch by itself, driven as hard as its ports allow."""

import json
from dataclasses import dataclass
from pathlib import Path

from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.switch import Switch
from sim.harness.session import CLOCK_MHZ, Listener, Result, Session
from sim.harness.verilate import Build
from sim.harness.verilator import Simulation, run
from sim.harness.workload import Workload, setting
from sim.p4sgd.switch_in_simulator import RESULTS
from sim.p4sgd.train import build_system


@dataclass(frozen=True, kw_only=True)
class SwitchWorkload(Workload):
    """Packets of all workers, as many as the ports take."""

    seed: int = setting(1, "Number that decides which slots the packets use.", least=0)


class SwitchSession(Session):
    """Latency of a sum, and packets a cycle, by the switch's own counters."""

    workload = SwitchWorkload
    counted = {
        "latency_cycles": "from the last packet of a slot to the sum on the last port",
        "packets_per_cycle": "with all ports sending in every cycle, on random slots",
        "packets_per_cycle_single": "with all ports sending in every cycle, on one slot",
        "packets_per_second": "on random slots, at the clock",
    }
    maximise = ("packets_per_second",)

    params: SwitchParams
    asked: SwitchWorkload

    @classmethod
    def build(cls, hardware: SwitchParams) -> Build:
        """The simulator of the switch alone."""
        return build_system(Switch(hardware), [])

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Send packets from all ports; the sums are checked on the way."""
        folder.mkdir(parents=True, exist_ok=True)
        results = folder / "results.json"
        run(
            simulator,
            Simulation(
                test_module="sim.p4sgd.switch_in_simulator",
                params=self.params,
                component=Switch,
                env={RESULTS: str(results)},
            ),
            seed=self.asked.seed,
            folder=folder,
        )
        found = json.loads(results.read_text())
        random, single = (found[name][0] / found[name][1] for name in ("random", "single"))
        return Result(
            figures={
                "latency_cycles": max(found["latencies"]),
                "packets_per_cycle": random,
                "packets_per_cycle_single": single,
                "packets_per_second": random * clock_mhz * 1e6,
            },
            details={"least_latency_cycles": min(found["latencies"]), "packets": found},
        )
