"""What a reproduction of SwitchGNN may be asked for."""

from dataclasses import dataclass

from sim.harness.workload import Workload, setting

#: In the order of the paper.
FIGURES = (
    "copies",
    "strawman",
    "degrees",
    "star-ring",
    "components",
    "time",
    "order",
    "memory",
)


@dataclass(frozen=True, kw_only=True)
class SwitchGnnAsked(Workload):
    """The settings of all figures."""

    graph_scale: float = setting(
        1.0,
        "Generate graphs of so many times the vertices that their families have.",
        least=0.02,
        most=100,
    )
