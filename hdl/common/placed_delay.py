"""Builds a chain of registers that stays a chain in placement, for wires that cross dies."""

from typing import Any

from amaranth.hdl import Module, Value

from hdl.common.arithmetic import delay

#: Attributes against two optimisations of synthesis: a shift register in place of the chain, which
#: would lie in one place, and a register shared with an equal one elsewhere, which would have loads
#: in two dies.
KEPT_APART = {"shreg_extract": "no", "dont_touch": "true"}


def placed_delay(m: Module, value: Any, cycles: int, name: str) -> Value:
    """Return the bits of ``value``, ``cycles`` later, from registers called name_1, name_2, ...

    The registers at a die's edge (Laguna) have no reset, so none of these has. Values under way
    when a reset begins are gone after ``cycles`` cycles, so a reset must last longer.
    """
    return delay(m, Value.cast(value), cycles, name, attrs=KEPT_APART)
