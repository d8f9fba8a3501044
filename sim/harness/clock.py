"""Defines the clock that simulations run on, and counts its edges."""

from functools import cache

from cocotb.simtime import convert, get_sim_time

__all__ = ["PERIOD_NS", "cycle"]

PERIOD_NS = 4


def cycle() -> int:
    """Return how many rising edges the clock has had, including the one that just came."""
    # Whole simulator steps, so this is exact; counting would wake Python up every cycle.
    return get_sim_time("step") // period_steps() + 1


@cache
def period_steps() -> int:
    """Return the clock's period in the simulator's steps."""
    return convert(PERIOD_NS, "ns", to="step")
