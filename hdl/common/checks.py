"""Checks the values that constructors of parameters are given."""


def is_power_of_two(value: int) -> bool:
    """Return whether ``value`` is one of 1, 2, 4, ..."""
    return value > 0 and value & (value - 1) == 0


def check_range(name: str, value: object, low: int, high: int, why: str = "") -> None:
    """Raise ValueError unless ``value`` is a whole number in the range; ``why`` follows the range.

    Fields whose range is always the same have :func:`hdl.common.params.whole` instead.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}{why}: {value!r}")
