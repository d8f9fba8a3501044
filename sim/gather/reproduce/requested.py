"""Describes what a reproduction of the GPU-oriented gather may be asked for."""

from dataclasses import dataclass

from sim.harness.workload import Workload, setting

#: Lists the figures, in the order of the paper.
FIGURES = ("alignment", "threads", "under-way", "training-data", "row-size", "set-up")


@dataclass(frozen=True, kw_only=True)
class GatherRequest(Workload):
    """Holds the settings of all figures; the paper's machine is the default."""

    memory_gigabytes: float = setting(
        59.0,
        "Let host memory carry this many gigabytes a second for processor and cards together.",
        least=1,
        most=1000,
    )
    round_trip: float = setting(
        1.5,
        "Let a read take this many microseconds from the card to its first completion.",
        least=0.1,
        most=16,
    )

    @property
    def memory(self) -> float:
        """Return the bytes a second that host memory carries."""
        return self.memory_gigabytes * 1e9
