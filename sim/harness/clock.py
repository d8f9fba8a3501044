"""The clock that simulations run on, and the count of its edges."""

from functools import cache

from cocotb.simtime import convert, get_sim_time

__all__ = ["PERIOD_NS", "cycle"]

PERIOD_NS = 4


def cycle() -> int:
    """The number of the clock's rising edges so far, the one that just came included."""
    # Whole simulator steps, so this is exact; counting would wake Python up every cycle.
    return get_sim_time("step") // period_steps() + 1


@cache
def period_steps() -> int:
    """The clock's period in the simulator's steps."""
    return convert(PERIOD_NS, "ns", to="step")
