"""Checks the values that constructors of parameters are given."""

from typing import Any


def is_power_of_two(value: int) -> bool:
    """Return whether ``value`` is one of 1, 2, 4, ..."""
    return value > 0 and value & (value - 1) == 0


def check_range(name: str, value: object, low: int, high: int) -> None:
    """Raise ValueError unless ``value`` is a whole number in the range."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}: {value!r}")


def within(params: Any, **limits: tuple[Any, ...]) -> None:
    """Raise ValueError unless each of the ``params`` that are named is within its limits.

    They are its least value, its largest one or None, and perhaps the unit to name.
    """
    for name, (least, most, *unit) in limits.items():
        value = getattr(params, name)
        if value < least or (most is not None and value > most):
            legal = f"at least {least}" if most is None else f"from {least} to {most}"
            raise ValueError(f"{name} must be {' '.join((legal, *unit))}: {value}")
