"""Runs each matrix by each value of one setting, and sets the runs side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce.balance import idle
from sim.netsparse.reproduce.points import PAPER, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel

ELEMENTS = 16

Lines = Mapping[str, Mapping[str, Outcome]]  #: outcomes by matrix and choice


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Describes a figure of a setting that has several values."""

    name: str
    title: str
    source: str
    quote: str
    setting: str  #: field of a point
    #: of the setting, or of several fields, by the name that the figure shows
    values: Mapping[str, Any]
    explained: str = ""  #: what the values mean, behind what is run
    note: str = ""
    claims: Callable[[Lines], list[Claim]]
    only: Sequence[str] = ()  #: matrices that are run at all; all if empty
    quick: Sequence[str] = ()  #: matrices that are enough for a quick figure; all if empty
    panels: Mapping[str, Callable[[Outcome], float]] = field(
        default_factory=lambda: {"speed-up over SUOpt": lambda outcome: outcome.speed_up}
    )

    def runs(self, subjects: Sequence[Subject]) -> dict[str, dict[str, Point]]:
        """Return the scaled run of each matrix by each value."""
        points = {item.family: Point(subject=item, elements=ELEMENTS) for item in subjects}
        return {
            family: {
                name: replace(point, **value if isinstance(value, dict) else {self.setting: value})
                for name, value in self.values.items()
            }
            for family, point in points.items()
        }

    def of_all(self, subjects: Sequence[Subject], quick: bool) -> Sequence[Subject]:
        """Return the matrices that are run."""
        some = self.only or (self.quick if quick else ())
        return [item for item in subjects if not some or item.family in some]

    def points(self, subjects: Sequence[Subject], quick: bool) -> list[Point]:
        """Return all points that must be run."""
        runs = self.runs(self.of_all(subjects, quick))
        return [point for own in runs.values() for point in own.values()]

    def figure(self, subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
        """Return the figure: a row for each matrix and value."""
        subjects = self.of_all(subjects, quick)
        lines = {
            family: {name: result[point] for name, point in own.items()}
            for family, own in self.runs(subjects).items()
        }
        rows = [self.row(family, name, own[name]) for family, own in lines.items() for name in own]
        return Figure(
            name=self.name,
            title=self.title,
            source=self.source,
            quote=self.quote,
            setting=f"K = {ELEMENTS}, scaled; {PAPER.what}{self.explained}. {sizes(subjects)}",
            rows=rows,
            shown=[self.shown(item) for item in rows],
            panels=[Panel(title, partial(draw, lines, get)) for title, get in self.panels.items()],
            claims=self.claims(lines),
            note=self.note,
        )

    def row(self, family: str, name: str, outcome: Outcome) -> dict[str, Any]:
        """Return a row of the CSV file."""
        return {
            "matrix": family,
            self.setting: name,
            "speed_up": outcome.speed_up,
            "traffic": outcome.traffic_reduction,
            "prs": outcome.figures["unit_prs"],
            "hits": outcome.figures["cache_hits"],
            "idle": idle(outcome),
            "link_bound": outcome.link_bound,
            "busiest_link": outcome.busiest_link,
            "seconds": round(outcome.seconds, 1),
        }

    def shown(self, item: Mapping[str, Any]) -> dict[str, str]:
        """Return a row of the page."""
        return {
            "matrix": item["matrix"],
            self.setting.replace("_", " "): item[self.setting],
            "speed-up": f"{item['speed_up']:.1f}",
            "traffic vs SU": f"{item['traffic']:.0f}x",
            "PRs": f"{item['prs']:,.0f}",
            "hits": f"{item['hits']:,.0f}",
            "nodes wait for the last": f"{item['idle']:.0%}",
            "busiest link": f"{item['link_bound']:.0%}, {item['busiest_link']}",
        }


def draw(lines: Lines, get: Callable[[Outcome], float], axes: Axes) -> None:
    """Draw a bar for each matrix and value."""
    names = list(next(iter(lines.values())))
    width = 0.8 / len(names)
    for k, name in enumerate(names):
        heights = [get(own[name]) for own in lines.values()]
        places = [place + width * (k - (len(names) - 1) / 2) for place in range(len(lines))]
        axes.bar(places, heights, width, label=name)
    axes.set_xticks(range(len(lines)), list(lines))
