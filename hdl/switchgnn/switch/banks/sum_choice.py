"""Selects the sums of one bank, which come directly from their memories."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.utils import exact_log2

GROUP = 4  #: banks whose sums a LUT multiplexes; a cycle later one of the groups is selected


def chosen_sums(m: Module, stored: Sequence[Any], number: Value, bank: Value) -> Value:
    """Return the ``stored`` sums of bank ``number`` a cycle later, when ``bank`` is its number.

    A register holds the selected sums of each group of banks; logic selects one of the registers.
    """
    groups = []
    for first in range(0, len(stored), GROUP):
        group = Array(Value.cast(each) for each in stored[first : first + GROUP])
        sums = Signal(len(group[0]), name=f"sums_{first}", reset_less=True)
        m.d.sync += sums.eq(group[number[: exact_log2(GROUP)]])
        groups.append(sums)
    return Array(groups)[bank[exact_log2(GROUP) :]] if len(groups) > 1 else groups[0]
