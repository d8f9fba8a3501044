"""Measures a SwitchGNN endpoint by itself, between its memory and a golden switch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.utils import ceil_log2

from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import Kind, payload_bytes
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.workload import Workload, setting
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.switchgnn.endpoint_job import EndpointJob
from sim.switchgnn.endpoint_program import turns_of
from sim.switchgnn.endpoint_side import endpoint_side
from sim.switchgnn.host.turns import Layout
from sim.switchgnn.network.cluster import Cluster, ClusterParams
from sim.switchgnn.network.network import empty_memories

LEAST_BYTES = 1 << 20  #: of a memory: tables of few features need as much
STALLS = ("window", "payload", "list", "rate", "link")


@dataclass(frozen=True, kw_only=True)
class EndpointWorkload(Workload):
    """Asks for features of one worker, which gets all sums itself."""

    features: int = setting(128, "Send this many features in a turn.", least=1, most=4096)
    turns: int = setting(2, "Run this many turns.", least=1, most=64)
    fan_in: int = setting(4, "Add this many features to a sum.", least=1, most=65535)
    read_latency: int = setting(
        60, "Answer reads of memory after this many cycles.", least=4, most=1000
    )
    link_latency: int = setting(
        100, "Delay frames to the switch, and back, by this many cycles.", least=1
    )
    seed: int = setting(1, "Draw the features with this seed.", least=0)


class EndpointSession(MeasuringSession):
    """Measures frames a cycle, and what delays them, by counters; checks all sums."""

    workload = EndpointWorkload
    component = Cluster
    test_module = "sim.switchgnn.endpoint_in_simulator"
    options = {"optimise": True, "extra_sources": [RAM_ARRAY]}
    counted = {
        "cycles": "of the job, from its start until all sums are in memory",
        "cycles_per_feature": "of the job, by the features that were sent",
        "features_per_second": "that were sent, at the clock",
        "sums_per_second": "that were taken and written, at the clock",
        "sent_again": "frames that were sent more than once",
        **{f"stall_{name}": f"cycles in which the {name} held frames up" for name in STALLS},
    }
    maximise = ("features_per_second",)

    def __init__(self, params: EndpointParams, requested: EndpointWorkload) -> None:
        super().__init__(params, requested)
        self.job = EndpointJob(
            params,
            features=requested.features,
            turns=requested.turns,
            fan_in=requested.fan_in,
            seed=requested.seed,
        )
        self.memories = self.hardware(params, requested)
        build = endpoint_side(params, self.memories.regions).description
        try:
            Layout(build, turns_of(self.job.worker))
        except ValueError as unfit:
            raise ValueError(f"{unfit}: send fewer features in fewer turns") from None

    @classmethod
    def hardware(cls, params: EndpointParams, requested: EndpointWorkload) -> ClusterParams:
        """Return an endpoint with its memories, in which features and sums have half of one."""
        rows = requested.turns * (
            requested.features * payload_bytes(Kind.RESULT, params.lanes) + ALIGNMENT
        )
        room = max(LEAST_BYTES, 2 << ceil_log2(rows))
        return ClusterParams(endpoint=params, workers=1, ram_bytes=room)

    def plusargs(self, folder: Path) -> Sequence[str]:
        """Return the arguments of memories that hold zeros at first."""
        return empty_memories(self.memories, folder)

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return what the counters say of the job."""
        second = clock_hz / result["cycles"]
        names = ("cycles", "sent_again", *(f"stall_{name}" for name in STALLS))
        return Result(
            figures={name: result[name] for name in names}
            | {
                "cycles_per_feature": result["cycles"] / result["sent_feature"],
                "features_per_second": result["sent_feature"] * second,
                "sums_per_second": result["taken_sum"] * second,
            },
            compared="every sum in the endpoint's memory equals the golden model's",
            details={"counters": result},
        )
