"""Chooses one of all banks' sums, which come straight from their memories."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.utils import exact_log2

GROUP = 4  #: banks one of whose sums a LUT chooses; one of the groups is chosen a cycle later


def chosen_sums(m: Module, stored: Sequence[Any], number: Value, bank: Value) -> Value:
    """Return the sums that bank ``number`` has ``stored``, a cycle later; ``bank`` is it then.

    Those of each group of banks are registered, and one of the registers is chosen by logic.
    """
    groups = []
    for first in range(0, len(stored), GROUP):
        group = Array(Value.cast(each) for each in stored[first : first + GROUP])
        sums = Signal(len(group[0]), name=f"sums_{first}", reset_less=True)
        m.d.sync += sums.eq(group[number[: exact_log2(GROUP)]])
        groups.append(sums)
    return Array(groups)[bank[exact_log2(GROUP) :]] if len(groups) > 1 else groups[0]
