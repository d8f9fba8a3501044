"""Brings rare events of a component together: just before, in the same cycle, and just behind.

An event is a function that a test calls right after a rising edge: :func:`pulse` makes that of an
input, and ``lambda: source.append(beat)`` is that of a beat. What a component does with two events
at a distance is what its golden model, or its docstring, says.
"""

import random
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from sim.harness.clock import cycle
from sim.harness.streams import RESET_CYCLES, Source

__all__ = ["DISTANCES", "apart", "around", "pairs", "pulse", "reset"]

DISTANCES = (-1, 0, 1)  #: cycles from one event to the other

Event = Callable[[], object]


def pairs(firsts: Iterable[Any], seconds: Iterable[Any]) -> list[tuple[Any, Any, int]]:
    """Return each of ``firsts`` with each of ``seconds`` at each distance, in a random order."""
    result = list(product(firsts, seconds, DISTANCES))
    return random.sample(result, len(result))


def around(constant: int) -> list[int]:
    """Return the numbers of cycles just before, at and just behind a constant of the hardware."""
    return [constant + distance for distance in DISTANCES]


def pulse(dut: Any, name: str, value: int = 1) -> Event:
    """Return the event that input ``name`` has a value for a cycle, and 0 after it."""
    handle = getattr(dut, name)

    async def end() -> None:
        await RisingEdge(dut.clk)
        handle.value = 0

    def begin() -> None:
        handle.value = value
        cocotb.start_soon(end())

    return begin


async def apart(dut: Any, first: Event, second: Event, distance: int) -> tuple[int, int]:
    """Let ``second`` happen ``distance`` cycles behind ``first``, or before it if that is negative.

    The earlier one happens at once. At the end of the later one's cycle, the cycles of both are
    returned.
    """
    begin = cycle() + 1
    for now in range(abs(distance) + 1):
        if now == max(0, -distance):
            first()
        if now == max(0, distance):
            second()
        await RisingEdge(dut.clk)
    return begin + max(0, -distance), begin + max(0, distance)


async def reset(dut: Any, forget: Event, *sources: Source) -> None:
    """Reset the component in the midst of whatever it does.

    What ``sources`` have not sent is given up, and ``forget`` is called before the reset ends.
    """
    dut.rst.value = 1
    for source in sources:
        source.abandon()
    await ClockCycles(dut.clk, RESET_CYCLES)
    forget()
    dut.rst.value = 0
