"""Compares the model with the RTL, on a cluster that both can run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from matplotlib.axes import Axes

from sim.netsparse.model.accuracy import BOUNDS
from sim.netsparse.reproduce.ablation import steps
from sim.netsparse.reproduce.paper import STEPS
from sim.netsparse.reproduce.points import RTL, RTL_MODEL, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, subjects
from sim.reproduce.figure import Claim, Figure, Panel, by_us

SCALE = 0.1  #: share of the families' rows of a node
ABLATED = "arabic"  #: the matrix of which every step is run

COUNTED: Mapping[str, Callable[[Outcome], float]] = {
    "PRs": lambda outcome: outcome.figures["unit_prs"],
    "packets": lambda outcome: outcome.figures["link_packets"],
    "bytes": lambda outcome: outcome.figures["link_bytes"],
    "hits": lambda outcome: outcome.figures["cache_hits"],
    "cycles": lambda outcome: outcome.cycles,
}


def small() -> tuple[Subject, ...]:
    """Return the generated matrices for the small cluster."""
    return subjects(scale=SCALE, nodes=RTL.nodes)


def runs() -> dict[tuple[str, str], Point]:
    """Return runs by matrix and step: each matrix with all mechanisms, one also step by step."""
    result = {}
    for subject in small():
        whole = Point(subject=subject, cluster=RTL)
        names = STEPS if subject.family == ABLATED else STEPS[-1:]
        for name, point in zip(STEPS, steps(whole), strict=True):
            if name in names:
                result[subject.family, name] = point
    return result


def points(_: Sequence[Subject], quick: bool) -> list[Point]:
    """Return each run on both engines."""
    del quick
    return [
        replace(point, cluster=cluster) for point in runs().values() for cluster in (RTL, RTL_MODEL)
    ]


@dataclass(frozen=True)
class Pair:
    """Holds the outcomes of a run on both engines."""

    matrix: str
    step: str
    rtl: Outcome
    model: Outcome

    def error(self, name: str) -> float:
        """Return the model's error, as a share of the RTL's figure."""
        own, papers = COUNTED[name](self.model), COUNTED[name](self.rtl)
        return own / papers - 1 if papers else float(own != papers)


def figure(_: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: RTL and model side by side."""
    del quick
    pairs = [
        Pair(matrix, step, result[point], result[replace(point, cluster=RTL_MODEL)])
        for (matrix, step), point in runs().items()
    ]
    return Figure(
        name="calibration",
        title="The model against the RTL",
        source="no figure of the paper",
        quote="(ours) What RTL cannot reach is run on a model of the same hardware, with the same"
        " parameters, registers and counters.",
        setting=f"{RTL.what}, K = 16, {'; '.join(item.what for item in small())}.",
        rows=[
            {
                "matrix": pair.matrix,
                "step": pair.step,
                **{
                    f"{name.lower()}_{engine}": COUNTED[name](outcome)
                    for name in COUNTED
                    for engine, outcome in (("rtl", pair.rtl), ("model", pair.model))
                },
                "exact_in_rtl": pair.rtl.exact,
                "seconds_rtl": round(pair.rtl.seconds, 1),
                "seconds_model": round(pair.model.seconds, 1),
            }
            for pair in pairs
        ],
        shown=[
            {"matrix": pair.matrix, "step": pair.step}
            | {
                name: f"{COUNTED[name](pair.rtl):,.0f} ({pair.error(name):+.1%})"
                for name in COUNTED
            }
            for pair in pairs
        ],
        panels=[Panel("error of the model", partial(draw, pairs))],
        claims=list(claims(pairs)),
        note="Each number is the RTL's, with the model's error behind it.",
    )


def claims(pairs: Sequence[Pair]) -> Iterator[Claim]:
    """Yield the claims on how near the model is to the RTL."""
    for name, most in BOUNDS.items():
        worst = max(pairs, key=lambda pair: abs(pair.error(name)))
        yield by_us(
            f"{name}: the model is " + (f"within {most:.0%}" if most else "exact"),
            abs(worst.error(name)) <= most,
            f"at most {worst.error(name):+.2%}: {worst.matrix}, {worst.step}",
        )
    exact = sum(pair.rtl.exact is True for pair in pairs)
    yield by_us(
        "memories and products of the RTL equal the golden model's and scipy's",
        exact == len(pairs),
        f"{exact} of {len(pairs)} runs",
    )


def draw(pairs: Sequence[Pair], axes: Axes) -> None:
    """Draw a mark for each run and figure."""
    for name in COUNTED:
        axes.plot([100 * pair.error(name) for pair in pairs], "o", label=name, ms=4)
    places = [f"{pair.matrix}\n{pair.step}" for pair in pairs]
    axes.set_xticks(range(len(pairs)), places, fontsize=6)
    axes.set_ylabel("% of the RTL's figure")
