"""Describes what a reproduction of SwitchGNN may be asked for."""

from dataclasses import dataclass

from sim.harness.workload import Workload, setting

#: In the order of the paper.
FIGURES = (
    "copies",
    "timeline",
    "strawman",
    "degrees",
    "star-ring",
    "components",
    "time",
    "leaf-spine",
    "order",
    "memory",
    "congestion",
)


@dataclass(frozen=True, kw_only=True)
class SwitchGnnRequest(Workload):
    """Holds the settings of all figures."""

    graph: list[str] | None = setting(
        None,
        "Use this Matrix Market or .npz file in the place of a family's graph (reddit=FILE), or"
        " beside them in the figures that compare graphs (FILE); may be repeated.",
        metavar="[FAMILY=]PATH",
        shown="generated graphs",
    )
    graph_scale: float = setting(
        1.0,
        "Generate graphs of this many times the vertices that their families have.",
        least=0.02,
        most=100,
    )
