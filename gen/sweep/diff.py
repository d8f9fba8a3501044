"""Compares what two sweeps measured, point by point."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gen.sweep.reading import settings_of
from gen.sweep.store import PointRow, Value


@dataclass(frozen=True, kw_only=True)
class Change:
    """Holds a metric of a point, or its status, that differs between two sweeps."""

    settings: dict[str, Value]  #: settings of the point
    metric: str  #: name of the metric, or "status"
    before: float | str | None  #: None where it was not measured
    after: float | str | None

    @property
    def absolute(self) -> float | None:
        """Return the second value less the first; None unless both are numbers."""
        if isinstance(self.before, int | float) and isinstance(self.after, int | float):
            return self.after - self.before
        return None

    @property
    def relative(self) -> float:
        """Return the difference as a share of the first value; infinite if it has none."""
        if self.absolute is None or not self.before or not math.isfinite(self.absolute):
            return math.inf
        return self.absolute / abs(float(self.before))

    def describe(self) -> dict[str, Any]:
        """Return the change as an object of JSON."""
        relative = self.relative if math.isfinite(self.relative) else None
        return {**asdict(self), "absolute": self.absolute, "relative": relative}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Holds how a second sweep differs from a first."""

    common: int  #: points that are in both
    varying: tuple[str, ...]  #: names of settings that vary among the points of both sweeps
    changes: tuple[Change, ...]  #: changes beyond the threshold, the largest relative change first
    only_first: tuple[dict[str, Value], ...]  #: settings of points
    only_second: tuple[dict[str, Value], ...]

    @property
    def equal(self) -> bool:
        """Return whether both have the same points, and no change beyond the threshold."""
        return not (self.changes or self.only_first or self.only_second)

    def describe(self) -> dict[str, Any]:
        """Return the difference as an object of JSON."""
        return {
            "common": self.common,
            "changes": [change.describe() for change in self.changes],
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
        }


def compare(
    first: Sequence[PointRow], second: Sequence[PointRow], threshold: float = 0.0
) -> Difference:
    """Compare two sweeps; points are the same if design, parameters and workload are.

    ``threshold`` is the share of the first's metric up to which a difference does not count. A
    metric or a result that only one of them has always does.
    """
    before, after = by_identity(first), by_identity(second)
    pairs = [(point, after[identity]) for identity, point in before.items() if identity in after]
    changes = [change for pair in pairs for change in changes_of(*pair, threshold)]
    return Difference(
        common=len(pairs),
        varying=varying([settings_of(point) for point in (*first, *second)]),
        changes=tuple(sorted(changes, key=lambda change: -abs(change.relative))),
        only_first=tuple(settings_of(p) for i, p in before.items() if i not in after),
        only_second=tuple(settings_of(p) for i, p in after.items() if i not in before),
    )


def varying(settings: Sequence[dict[str, Value]]) -> tuple[str, ...]:
    """Return the names that are missing or have another value in some of ``settings``."""
    names = dict.fromkeys(name for each in settings for name in each)
    return tuple(name for name in names if len({repr(each.get(name)) for each in settings}) > 1)


def by_identity(points: Iterable[PointRow]) -> dict[str, PointRow]:
    """Return the points by what was asked of them, whatever the sources were."""
    return {
        json.dumps([point.design, point.parameters, point.workload], sort_keys=True): point
        for point in points
    }


def changes_of(before: PointRow, after: PointRow, threshold: float) -> list[Change]:
    """Return the changes of one point."""
    settings = settings_of(before)
    if before.status != after.status:
        return [
            Change(settings=settings, metric="status", before=before.status, after=after.status)
        ]
    changes = [
        Change(
            settings=settings,
            metric=name,
            before=before.metrics.get(name),
            after=after.metrics.get(name),
        )
        for name in dict.fromkeys([*before.metrics, *after.metrics])
    ]
    return [change for change in changes if differs(change, threshold)]


def differs(change: Change, threshold: float) -> bool:
    """Return whether a change counts; NaN equals NaN."""
    if change.before == change.after or (is_nan(change.before) and is_nan(change.after)):
        return False
    return abs(change.relative) > threshold


def is_nan(value: Any) -> bool:
    """Return whether ``value`` is a float that is NaN."""
    return isinstance(value, float) and math.isnan(value)
