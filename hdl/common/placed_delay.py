"""Makes a chain of registers that placement keeps as one, for wires that cross a die's edge."""

from typing import Any

from amaranth.hdl import Module, Value

from hdl.common.arithmetic import delay

#: Synthesis must not fold the chain into a shift register, which lies in one place, nor use one
#: of its registers for an equal one elsewhere: then it would have loads in two dies.
KEPT_APART = {"shreg_extract": "no", "dont_touch": "true"}


def placed_delay(m: Module, value: Any, cycles: int, name: str) -> Value:
    """Return the bits of ``value``, ``cycles`` later. Registers are called name_1, name_2, ...

    Registers of a die's edge (Laguna) are plain ones, so these have no reset: what is under way
    when a reset begins is gone only after as many ``cycles``, and a reset has to last longer.
    """
    return delay(m, Value.cast(value), cycles, name, attrs=KEPT_APART)
