"""How far the model is from a run in RTL."""

from dataclasses import dataclass

from sim.netsparse.model.run import model_gather
from sim.netsparse.network_figures import NetworkFigures

TRAFFIC = 0.05  #: packets, bytes of all links, hits: share of the RTL's
TIME = 0.10  #: cycles
FEW = 5  #: so many packets or hits are always within bounds: small runs have hundreds


@dataclass(frozen=True)
class Compared:
    """A figure of both."""

    name: str
    rtl: int
    model: int

    @property
    def error(self) -> float:
        """The model's, as a share of the RTL's figure."""
        return (self.model - self.rtl) / max(1, self.rtl)

    def __str__(self) -> str:
        return f"{self.name}: RTL {self.rtl:,}, model {self.model:,} ({self.error:+.1%})"


def figures_of(result) -> dict[str, int]:
    """What is compared."""
    network = NetworkFigures(result)
    return {
        "PRs": sum(node.totals["prs"] for node in result.nodes),
        "packets": network.links("packets"),
        "bytes": network.links("bytes"),
        "hits": network.total("cache_hit"),
        "cycles": result.cycles,
    }


def compared(gather, params, result) -> list[Compared]:
    """The figures of a run in RTL and those that the model predicts."""
    modelled = figures_of(model_gather(gather, params))
    return [Compared(name, rtl, modelled[name]) for name, rtl in figures_of(result).items()]


def check_calibrated(gather, params, result, *, prs=0.0) -> None:
    """AssertionError unless the model predicts the run: PRs exactly, or within a share ``prs``."""
    every = compared(gather, params, result)
    bounds = {"PRs": prs, "cycles": TIME}
    for one in every:
        few = FEW if one.name in ("packets", "hits") else 0
        bound = max(bounds.get(one.name, TRAFFIC) * one.rtl, few)
        assert abs(one.model - one.rtl) <= bound, "; ".join(map(str, every))
