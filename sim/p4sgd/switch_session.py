"""Measures a P4SGD switch by itself, driven as hard as its ports allow."""

from dataclasses import dataclass
from typing import Any

from hdl.p4sgd.switch.switch import Switch
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.workload import Workload, setting


@dataclass(frozen=True, kw_only=True)
class SwitchWorkload(Workload):
    """Describes the packets of all workers, as many as the ports take."""

    seed: int = setting(1, "Draw with this seed which slots the packets use.", least=0)


class SwitchSession(MeasuringSession):
    """Measures the latency of a sum, and packets a cycle, by the switch's own counters."""

    workload = SwitchWorkload
    component = Switch
    test_module = "sim.p4sgd.switch_in_simulator"
    counted = {
        "latency_cycles": "from the last packet of a slot to the sum on the last port",
        "packets_per_cycle": "with all ports sending in every cycle, on random slots",
        "packets_per_cycle_single": "with all ports sending in every cycle, on one slot",
        "packets_per_second": "on random slots, at the clock",
    }
    maximise = ("packets_per_second",)

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return the figures; the sums were checked on the way."""
        random, single = (result[name][0] / result[name][1] for name in ("random", "single"))
        return Result(
            figures={
                "latency_cycles": max(result["latencies"]),
                "packets_per_cycle": random,
                "packets_per_cycle_single": single,
                "packets_per_second": random * clock_hz,
            },
            compared="every sum whose latency was measured equals that of what was sent",
            details={"least_latency_cycles": min(result["latencies"]), "packets": result},
        )
