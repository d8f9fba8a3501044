"""Finds the best points: no other is better in one objective and as good in all others."""

from collections.abc import Sequence
from dataclasses import dataclass

from gen.base.errors import UserError
from gen.sweep.store import PointRow
from gen.sweep.subject import Subject


@dataclass(frozen=True)
class Objective:
    """Names a metric that should be large, or small."""

    metric: str
    large: bool

    @property
    def text(self) -> str:
        """Return the objective in words."""
        return f"{'large' if self.large else 'small'} {self.metric}"

    def loss(self, metrics: dict[str, float]) -> float:
        """Return the metric with the sign that makes less the better."""
        return float(-metrics[self.metric] if self.large else metrics[self.metric])


@dataclass(frozen=True)
class Constraint:
    """Names a metric and how much it may be, or must be."""

    metric: str
    most: bool  #: whether ``bound`` is the most that it may be; else the least
    bound: float

    @classmethod
    def parse(cls, text: str) -> "Constraint":
        """Parse a text such as ``fill <= 1``; raise UserError for any other."""
        for sign in ("<=", ">="):
            metric, result, bound = (part.strip() for part in text.partition(sign))
            try:
                if result and metric:
                    return cls(metric, sign == "<=", float(bound))
            except ValueError:
                break
        raise UserError(f"a constraint is METRIC <= NUMBER or METRIC >= NUMBER: {text!r}")

    def excess(self, metrics: dict[str, float]) -> float:
        """Return how much the constraint is violated: above 0 if it is."""
        over = metrics[self.metric] - self.bound
        return float(over if self.most else -over)


def objectives(maximise: Sequence[str], minimise: Sequence[str]) -> list[Objective]:
    """Return all objectives; raise UserError for a metric that is in both lists."""
    if both := sorted(set(maximise) & set(minimise)):
        raise UserError(f"{both[0]} cannot be both maximised and minimised")
    return [Objective(name, True) for name in maximise] + [
        Objective(name, False) for name in minimise
    ]


def usual(subject: Subject, known: Sequence[str]) -> list[Objective]:
    """Return the default objectives, the design's metrics and few LUTs, as far as ``known``."""
    return objectives(
        [name for name in subject.maximise if name in known], ["luts"] if "luts" in known else []
    )


def front(
    points: Sequence[PointRow], aims: Sequence[Objective], bounds: Sequence[Constraint] = ()
) -> list[PointRow]:
    """Return the best of the points that are done and within bounds, sorted by the first aim."""
    expected = {aim.metric for aim in aims} | {bound.metric for bound in bounds}
    able = [
        point
        for point in points
        if point.status == "done"
        and expected <= point.metrics.keys()
        and all(bound.excess(point.metrics) <= 0 for bound in bounds)
    ]
    losses = {point.key: [aim.loss(point.metrics) for aim in aims] for point in able}
    best = [
        point
        for point in able
        if not any(
            other != losses[point.key]
            and all(b <= a for a, b in zip(losses[point.key], other, strict=True))
            for other in losses.values()
        )
    ]
    return sorted(best, key=lambda point: losses[point.key])
