"""Describes what a run of whole training steps is asked to do."""

from dataclasses import dataclass, fields

from sim.harness.workload import setting
from sim.switchgnn.gcn.workload import GcnWorkload, TrainingWorkload

MAX_WORKERS = 8  #: each has two ports of a switch, which has 16 at most


@dataclass(frozen=True, kw_only=True)
class StepWorkload(TrainingWorkload):
    """Asks for training steps whose features are gathered, and whose gradients are all-reduced."""

    epochs: int = setting(2, "Train this many times on all vertices.", least=1)
    workers: int = setting(
        4,
        "Share the vertices between this many workers, each with two ports of the switch.",
        least=2,
        most=MAX_WORKERS,
    )
    pcie_latency: int = setting(
        375,
        "Delay answers to reads of host memory by this many cycles, beside what bytes take.",
        least=64,
        most=4095,
    )
    irregular: bool = setting(
        False,
        "Draw by the seed when answers to reads come, in which order and pieces, when buses to host"
        " memory and network interfaces pause, and when hosts look at what is to be sent.",
    )
    macs: int = setting(
        1024,
        "Count this many multiply-adds a cycle of a worker's compute, which is not simulated.",
        least=1,
        most=1 << 20,
    )

    @property
    def training(self) -> GcnWorkload:
        """Return the training that the steps are of."""
        return GcnWorkload(
            **{item.name: getattr(self, item.name) for item in fields(TrainingWorkload)}
        )

    @property
    def idle(self) -> set[str]:
        """Return the names of the fields that have no effect beside the others."""
        return set() if self.duplicate or self.reorder else {"displacement"}
