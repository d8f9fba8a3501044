"""Measures a NetSparse switch by itself, driven as hard as its ports and pipes allow."""

from dataclasses import dataclass
from typing import Any

from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.workload import Workload, setting


@dataclass(frozen=True, kw_only=True)
class NetSparseSwitchWorkload(Workload):
    """Asks for packets at all ports of a switch, one kind after the other."""

    property_bytes: int = setting(64, "Give a property this many bytes.", least=4)
    packets: int = setting(200, "Send this many packets by a port to measure throughput.", least=20)
    seed: int = setting(1, "Draw with this seed where packets go.", least=0)


class NetSparseSwitchSession(MeasuringSession):
    """Measures latency and throughput of a switch and of a middle pipe, by counters."""

    workload = NetSparseSwitchWorkload
    component = NetSparseSwitch
    test_module = "sim.netsparse.switch_in_simulator"
    options = {}
    counted = {
        "hit_latency_cycles": "from a read's last beat to the header of its answer from the cache",
        "read_latency_cycles": "from a read's last beat to the header of its packet at the uplink",
        "response_latency_cycles": "from a response's last beat to the header of its packet",
        "read_prs_per_cycle": "reads that a middle pipe passes, in packets of the MTU",
        "hit_prs_per_cycle": "reads that a middle pipe answers, in packets of the MTU",
        "response_prs_per_cycle": "responses that a middle pipe passes, in packets of the MTU",
        "response_bytes_per_cycle": "bytes of these packets",
        "packets_per_cycle": "packets of one read each over all ports, not joined",
        "packets_per_second": "the same, at the clock",
        "cycles": "of the simulation",
    }
    maximise = ("packets_per_second",)

    def __init__(self, params: NetSparseSwitchParams, requested: NetSparseSwitchWorkload) -> None:
        super().__init__(params, requested)
        most = min(params.most_property_bytes, params.cache.max_bytes)
        if requested.property_bytes % 4 or requested.property_bytes > most:
            raise ValueError(
                f"property bytes must be a multiple of 4, from 4 to the {most} of the build:"
                f" {requested.property_bytes}"
            )
        if not params.pipes:
            raise ValueError("a switch without middle pipes has nothing to measure here: pipes=0")

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return what the switch's counters say of one measurement after the other."""
        second = {"packets_per_second": result["packets_per_cycle"] * clock_hz}
        return Result(figures=result | second)
