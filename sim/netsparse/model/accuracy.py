"""Measures how far the model's figures are from those of a run in RTL."""

from dataclasses import dataclass

from sim.netsparse.gather import Gather
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.model.run import model_gather
from sim.netsparse.network_figures import NetworkFigures
from sim.netsparse.surroundings.cluster_system import ClusterParams

#: How far a figure of the model may be from the RTL's, as a share of it. PRs are exact where the
#: mechanisms alone decide them; packets and bytes are summed over all links.
BOUNDS = {"PRs": 0.0, "packets": 0.05, "bytes": 0.05, "hits": 0.05, "cycles": 0.10}
FEW = {"packets": 5, "hits": 5}  #: by how many a short run may differ, whatever share that is


@dataclass(frozen=True)
class Compared:
    """Holds a figure of the model and the same figure of the RTL."""

    name: str
    rtl: int
    model: int

    @property
    def error(self) -> float:
        """Return by how much the model's figure is larger, as a share of the RTL's."""
        return (self.model - self.rtl) / max(1, self.rtl)

    @property
    def near(self) -> bool:
        """Return whether the figures differ by no more than is tolerated."""
        bound = max(BOUNDS[self.name] * self.rtl, FEW.get(self.name, 0))
        return abs(self.model - self.rtl) <= bound

    def __str__(self) -> str:
        return f"{self.name}: RTL {self.rtl:,}, model {self.model:,} ({self.error:+.1%})"


def figures_of(result: GatherResult) -> dict[str, int]:
    """Return the figures that are compared; packets and bytes are summed over all links."""
    network = NetworkFigures(result)
    return {
        "PRs": sum(node.totals["prs"] for node in result.nodes),
        "packets": network.links("packets"),
        "bytes": network.links("bytes"),
        "hits": network.total("cache_hit"),
        "cycles": result.cycles,
    }


def compared(
    gather: Gather, params: ClusterParams, rtl: GatherResult
) -> tuple[GatherResult, list[Compared]]:
    """Return the model's result of a gather, and its figures beside those of ``rtl``."""
    result = model_gather(gather, params)
    modelled = figures_of(result)
    return result, [
        Compared(name, count, modelled[name]) for name, count in figures_of(rtl).items()
    ]


def bounds_table() -> str:
    """Return the table of the model's page: by how much each figure may differ from the RTL's."""
    rows = ["| figure | may differ from the RTL's by at most |", "| --- | --- |"]
    for name, most in BOUNDS.items():
        few = f", or {FEW[name]} if that is more" if name in FEW else ""
        rows.append(f"| {name} | {f'{most:.0%}'.replace('%', ' %') if most else 'nothing'}{few} |")
    return "\n".join(rows) + "\n"
