"""Reads tables of cases that stand as text, a case a line."""

import re
from textwrap import dedent

__all__ = ["places", "rows"]


def rows(text: str, apart: str = "|") -> list[list[str]]:
    """Return the columns of each line of ``text``, which are ``apart`` by that sign.

    A line that begins deeper than the first one continues the line before it.
    """
    lines = re.sub(r"\n +", " ", dedent(text).strip()).splitlines()
    return [[column.strip() for column in line.split(apart)] for line in lines]


def places(text: str) -> dict[str, tuple[float, int]]:
    """Return the two numbers behind each name, as in ``kind 15 8, flag 42.125 1``."""
    fields = [field.split() for field in text.split(",")]
    return {
        name: (float(first) if "." in first else int(first), int(second))
        for name, first, second in fields
    }
