"""Makes a chain of registers that placement keeps as one, for wires that cross a die's edge."""

from typing import Any

from amaranth.hdl import Const, Module, Value

from hdl.common.arithmetic import delay

#: Synthesis must not fold the chain into a shift register, which lies in one place, nor use one
#: of its registers for an equal one elsewhere: then it would have loads in two dies.
KEPT_APART = {"shreg_extract": "no", "dont_touch": "true"}


def placed_delay(
    m: Module, value: Any, cycles: int, name: str, *, reset_less: bool = False
) -> Value:
    """Return the bits of ``value``, ``cycles`` later. Registers are called name_1, name_2, ...

    Registers of a die's edge (Laguna) are plain ones, so these have no reset. Unless the delay is
    ``reset_less``, the result is low from a reset until all that was under way then has passed, as
    if each register had been reset.
    """
    value = delay(m, Value.cast(value), cycles, name, attrs=KEPT_APART)
    if reset_less:
        return value
    one = Const(1, 1)
    passed = delay(m, one, cycles, f"{name}_passed", reset_less=False, attrs=KEPT_APART)
    return value & passed.replicate(len(value))
