"""Reproduces figures 15 to 18: batch size, RIG units, DelayCycles and cache size, K = 16."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce.points import PAPER, Point
from sim.netsparse.reproduce.runs import Outcomes
from sim.netsparse.reproduce.sensitivity_claims import (
    Lines,
    Step,
    judge_batch,
    judge_cache,
    judge_delay,
    judge_units,
)
from sim.netsparse.reproduce.subjects import Subject
from sim.reproduce.figure import Claim, Figure, Panel

MARKERS = "os^Dv"
MEBI = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Describes a figure in which one setting varies."""

    name: str
    title: str
    source: str
    quote: str
    what: str  #: name of the setting that varies
    values: Sequence[int]
    quick_values: Sequence[int]
    change: Callable[[Point, int], Point]
    basis: Callable[[Point], Point]  #: makes the point that all values are compared with
    shown: Callable[[int], str] = str
    judge: Callable[[Lines], list[Claim]]
    note: str = ""

    def series(self, subjects: Sequence[Subject], quick: bool) -> dict[str, list[Point]]:
        """Return, by matrix, the basis and then a point for each value."""
        values = self.quick_values if quick else self.values
        result = {}
        for subject in subjects:
            plain = Point(subject=subject)
            result[subject.family] = [
                self.basis(plain),
                *(self.change(plain, value) for value in values),
            ]
        return result

    def points(self, subjects: Sequence[Subject], quick: bool) -> list[Point]:
        """Return all points that must be run."""
        return [point for own in self.series(subjects, quick).values() for point in own]

    def figure(self, subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
        """Return the figure: speed-up and traffic relative to the basis."""
        values = self.quick_values if quick else self.values
        lines: dict[str, list[Step]] = {}
        for family, (basis, *own) in self.series(subjects, quick).items():
            before = result[basis]
            lines[family] = [
                Step(
                    value,
                    before.cycles / result[point].cycles,
                    result[point].figures["link_bytes"] / before.figures["link_bytes"],
                    result[point],
                )
                for value, point in zip(values, own, strict=True)
            ]
        sizes = "; ".join(item.what for item in subjects)
        return Figure(
            name=self.name,
            title=self.title,
            source=self.source,
            quote=self.quote,
            setting=f"K = 16; {PAPER.what}, on the model. Values are the paper's; batch, cache"
            " and latencies are scaled with the nonzeros, Pending PR Tables with a PR's way:"
            f" {sizes}.",
            rows=[self.row(family, item) for family, own in lines.items() for item in own],
            shown=[self.words(family, own) for family, own in lines.items()],
            panels=[
                Panel("speed-up", partial(self.draw, lines, lambda item: item.speed_up)),
                Panel("bytes of all links", partial(self.draw, lines, lambda item: item.traffic)),
            ],
            claims=self.judge(lines),
            note=self.note,
        )

    def row(self, family: str, item: Step) -> dict[str, Any]:
        """Return a row of the CSV file."""
        outcome = item.outcome
        return {
            "matrix": family,
            self.name.replace("-", "_"): item.value,
            "engine": PAPER.engine,
            "cycles": outcome.cycles,
            "speed_up": item.speed_up,
            "traffic": item.traffic,
            "filter_coalesce_rate": outcome.figures["filter_coalesce_rate"],
            "prs_per_packet_of_tail": outcome.prs_per_packet,
            "hit_rate": outcome.figures["cache_hit_rate"],
            "line_bound": outcome.utilisation,
            "link_bound": outcome.link_bound,
            "client_bound": outcome.client_bound,
            "seconds": round(outcome.seconds, 1),
        }

    def words(self, family: str, own: Sequence[Step]) -> dict[str, str]:
        """Return a cell of the page: the speed-up, and the traffic behind it."""
        return {"speed-up (traffic)": family} | {
            self.shown(item.value): f"{item.speed_up:.2f} ({item.traffic:.2f})" for item in own
        }

    def draw(self, lines: Lines, get: Callable[[Step], float], axes: Axes) -> None:
        """Draw a line for each matrix."""
        first = next(iter(lines.values()))
        places = range(len(first))
        axes.set_xticks(places, [self.shown(item.value) for item in first], fontsize=8)
        axes.set_xlabel(self.what)
        axes.axhline(1, color="0.6", linewidth=0.8)
        for (family, own), marker in zip(lines.items(), MARKERS, strict=True):
            axes.plot(places, [get(item) for item in own], f"{marker}-", label=family, ms=4)


def mebibytes(value: int) -> str:
    """Return a cache's size in words."""
    return f"{value // MEBI} MB" if value else "none"


BATCH = Sensitivity(
    name="batch-size",
    title="Sensitivity to the batch size",
    source="section 9.3, figure 15",
    quote="a small batch size can introduce software overhead, while a large one can introduce SNIC"
    " thread load imbalance. This explains why, for many matrices, the best batch size is not at"
    " the extremes. We also see that the optimal choice is input-sensitive",
    what="idxs of a work request (of the paper's matrix)",
    values=(2048, 8192, 16384, 32768, 131072),
    quick_values=(2048, 16384, 131072),
    change=lambda point, value: replace(point, batch=value),
    basis=lambda point: replace(point, batch=16384),
    shown=lambda value: f"{value // 1024}k",
    judge=judge_batch,
)
UNITS = Sensitivity(
    name="rig-units",
    title="Sensitivity to the number of RIG units",
    source="section 9.3, figure 16",
    quote="Speedups grow until 32 units (our default design point), after which no matrix achieves"
    " significant additional gains.",
    what="RIG units, half of them clients",
    values=(2, 4, 8, 16, 32, 64),
    quick_values=(2, 8, 32, 64),
    change=lambda point, value: replace(point, units=value),
    basis=lambda point: replace(point, units=2),
    judge=judge_units,
)
DELAY = Sensitivity(
    name="delay-cycles",
    title="Sensitivity to the concatenation delay",
    source="section 9.3, figure 17",
    quote="Initially, as the cycles increase, performance increases due to more PRs getting"
    " concatenated. However, when the delay gets too large, performance gets worse than with no"
    " concatenation. [...] Queen has the highest destination locality and gets the most benefit. In"
    " contrast, europe gets the least benefit.",
    what="DelayCycles of a SNIC, as the paper counts",
    values=(0, 50, 500, 5000, 50000),
    quick_values=(0, 500, 50000),
    change=lambda point, value: replace(point, delay=value),
    basis=lambda point: replace(point, concatenate=False),
    judge=judge_delay,
    note="Against no concatenation at all, in SNICs and switches. A delay is not scaled with the"
    " matrix, so that a long one weighs more against a short run than it does in the paper.",
)
CACHE = Sensitivity(
    name="cache-size",
    title="Sensitivity to the size of the Property Cache",
    source="section 9.3, figure 18",
    quote="caching can provide up to 40% improvement for arabic, while it does not improve stokes,"
    " regardless of the cache size. Also, we see that the cache size we chose is sufficient for"
    " most matrices",
    what="cache of a switch (for the paper's matrix)",
    values=(2 * MEBI, 8 * MEBI, 32 * MEBI, 128 * MEBI, 4096 * MEBI),
    quick_values=(2 * MEBI, 32 * MEBI, 4096 * MEBI),
    change=lambda point, value: replace(point, cache_bytes=value),
    basis=lambda point: replace(point, cache_bytes=0),
    shown=mebibytes,
    judge=judge_cache,
    note="4,096 MB stand for the paper's infinite cache: more than all properties.",
)
SENSITIVITIES = {item.name: item for item in (BATCH, UNITS, DELAY, CACHE)}
