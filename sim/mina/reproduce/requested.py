"""Describes what a reproduction of MINA may be asked for."""

from dataclasses import dataclass

from sim.harness.workload import Workload, setting

#: Lists the figures, in the order of the paper.
FIGURES = (
    "fragments",
    "timeline",
    "bandwidth",
    "testbed",
    "traces",
    "ablation",
    "oversubscription",
    "candidates",
    "sharing",
)


@dataclass(frozen=True, kw_only=True)
class MinaRequest(Workload):
    """Holds the settings of all figures."""

    seeds: int = setting(
        5, "Run the ablation with this many orders of events at one time.", least=1, most=100
    )
