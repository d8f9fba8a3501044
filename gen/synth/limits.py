"""Sets limits that a netlist must keep so that the design can run at its clocks once placed."""

#: What a level takes with its wire, and what a register and the clock's uncertainty take of each
#: period, in ps. 250, 300, 322 and 450 MHz so leave 8, 6, 6 and 4 levels.
LEVEL_PS, REGISTER_PS = 450, 400
#: Loads of a wire that no flip-flop drives, above which it takes a level more each: such a wire
#: stays one, and spreads.
MORE_LOADS = (64, 256)
MAX_CHAINS = 1  #: carry chains on any path
MAX_FAN_OUT = 1_000  #: inputs at one wire, unless a flip-flop drives it, which can be copied


def most_levels(mhz: float) -> int:
    """Return the most levels of a path at a clock: LUTs, hard blocks' delays and loads' levels."""
    return int((1_000_000 / mhz - REGISTER_PS) // LEVEL_PS)


def path_ns(levels: int) -> float:
    """Return the period that a path of so many levels needs, in ns."""
    return (REGISTER_PS + levels * LEVEL_PS) / 1000


def load_levels(loads: int) -> int:
    """Return the levels that a wire takes for its loads, unless a flip-flop drives it."""
    return sum(loads > limit for limit in MORE_LOADS)
