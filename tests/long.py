"""Which of a test's parameters each commit runs, and which are left to the long form."""

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest

__all__ = ["short_and_long", "short_products"]


def short_and_long(values: Iterable[Any], short: Collection[Any]) -> list[Any]:
    """``values`` for ``parametrize``: all but ``short``, which are among them, are long."""
    values = list(values)
    strange = [value for value in short if value not in values]
    if strange:
        raise ValueError(f"not among the values: {strange}")
    return [value if value in short else long(value) for value in values]


def short_products(*lists: Iterable[Any], short: Collection[tuple[Any, ...]]) -> list[Any]:
    """The same of the product of several parameters: each of ``short`` has one of each list."""
    return short_and_long(product(*lists), short)


def long(value: Any) -> Any:
    """``value``, or the parameters of a tuple, in the long form only."""
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.long)
