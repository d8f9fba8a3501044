"""A chain of registers that stays one when it is placed: for wires that cross a die's edge."""

from typing import Any

from amaranth.hdl import Module, Signal

#: Synthesis must not fold the chain into a shift register, which stands in one place.
KEPT_APART = {"shreg_extract": "no"}


def placed_delay(m: Module, value: Any, cycles: int, name: str, *, reset_less: bool = False) -> Any:
    """``value``, ``cycles`` later; a view stays a view. Registers are called name_1, name_2, ..."""
    for step in range(1, cycles + 1):
        register = Signal(
            value.shape(), name=f"{name}_{step}", reset_less=reset_less, attrs=KEPT_APART
        )
        m.d.sync += register.eq(value)
        value = register
    return value
