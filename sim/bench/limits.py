"""Compares measurements with the limits that they must keep."""

import os
from dataclasses import asdict, dataclass
from typing import Any

CPU = "s of CPU"  #: unit of a time that has a limit: whatever runs beside it takes none of it


def cpu_seconds() -> float:
    """Return the seconds of CPU of this process and of those that it has waited for."""
    return sum(os.times()[:4])


@dataclass(frozen=True)
class Limit:
    """Sets a bound that a measurement must keep."""

    bound: float
    at_least: bool = False  #: whether the value must be at least the limit; else at most

    def holds(self, value: float) -> bool:
        """Return whether ``value`` keeps the bound, the bound itself included."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {number(self.bound)}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """Holds a line of the bench's table."""

    what: str
    value: float
    unit: str = ""
    limit: Limit | None = None  #: None for what is only reported
    note: str = ""  #: how the value came about

    def __post_init__(self) -> None:
        if self.limit is not None and self.unit == "s":
            raise ValueError(f"{self.what}: a limit is on {CPU}, as others use this machine, too")

    @property
    def holds(self) -> bool:
        """Return whether the limit is kept; what has none cannot fail."""
        return self.limit is None or self.limit.holds(self.value)

    @property
    def verdict(self) -> str:
        """Return the verdict in a word; empty without a limit."""
        return "" if self.limit is None else "yes" if self.holds else "NO"

    def result(self) -> dict[str, Any]:
        """Return everything about the row, fit for JSON."""
        return asdict(self) | {"holds": self.holds}


def number(value: float) -> str:
    """Return a number with three digits, or with all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
