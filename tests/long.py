"""Says which of a test's parameters each commit runs, and which only the long form runs."""

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest

__all__ = ["short_and_long", "short_products"]


def short_and_long(values: Iterable[Any], short: Collection[Any]) -> list[Any]:
    """Return ``values`` for ``parametrize``; all but ``short``, which are among them, are long."""
    values = list(values)
    strange = [value for value in short if value not in values]
    if strange:
        raise ValueError(f"not among the values: {strange}")
    return [value if value in short else long(value) for value in values]


def short_products(*lists: Iterable[Any], short: Collection[tuple[Any, ...]]) -> list[Any]:
    """Do the same for a product of lists; each of ``short`` is one item of the product."""
    return short_and_long(product(*lists), short)


def long(value: Any) -> Any:
    """Return ``value``, or a tuple of parameters, to be run in the long form only."""
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.long)
