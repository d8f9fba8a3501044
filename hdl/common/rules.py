"""Says which values of a field are legal: whole numbers of a range, choices, true or false."""

from dataclasses import dataclass
from typing import Any, Protocol

from hdl.common.checks import is_power_of_two


class Rule(Protocol):
    """Says which values of a field are legal."""

    def admits(self, value: object) -> bool:
        """Return whether the value is legal."""
        ...

    @property
    def legal(self) -> str:
        """Return what a value must be, for a message."""
        ...

    @property
    def short(self) -> str:
        """Return the same in a few characters, for a help text; empty if it goes without saying."""
        ...


@dataclass(frozen=True)
class Whole:
    """Admits whole numbers: those of a range, perhaps only some of them, perhaps 0 besides."""

    least: int | None = None
    most: int | None = None
    power_of_two: bool = False
    multiple_of: int = 1
    or_zero: bool = False

    def admits(self, value: object) -> bool:
        """Return whether the value is legal; a bool is no whole number."""
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if self.or_zero and value == 0:
            return True
        above = self.least is None or value >= self.least
        below = self.most is None or value <= self.most
        fits = value % self.multiple_of == 0 and (not self.power_of_two or is_power_of_two(value))
        return above and below and fits

    @property
    def legal(self) -> str:
        """Return what a value must be, for a message."""
        zero = "0 or " if self.or_zero else ""
        kind = self.kind or "a whole number"
        if self.least is None:
            return zero + kind
        span = f"of at least {self.least}"
        if self.most is not None:
            span = f"from {self.least} to {self.most}"
        return f"{zero}{kind} {span}"

    @property
    def short(self) -> str:
        """Return the same in a few characters, for a help text."""
        span = ""
        if self.least is not None:
            most = self.most
            span = f"at least {self.least}" if most is None else f"{self.least}..{most}"
        return ", ".join(filter(None, ("0" * self.or_zero, self.kind, span)))

    @property
    def kind(self) -> str:
        """Return what is special about the numbers of the range; empty if all are legal."""
        if self.power_of_two:
            return "a power of two"
        return f"a multiple of {self.multiple_of}" if self.multiple_of > 1 else ""


@dataclass(frozen=True)
class Choice:
    """Admits some values, all of one type."""

    values: tuple[Any, ...]

    def admits(self, value: object) -> bool:
        """Return whether the value is legal; True is no 1."""
        return type(value) is type(self.values[0]) and value in self.values

    @property
    def legal(self) -> str:
        """Return what a value must be, for a message."""
        return f"one of {self.short}"

    @property
    def short(self) -> str:
        """Return the values, for a help text."""
        return ", ".join(map(str, self.values))


class Flag:
    """Admits True and False."""

    legal = "true or false"
    short = ""

    def admits(self, value: object) -> bool:
        """Return whether the value is legal."""
        return isinstance(value, bool)
