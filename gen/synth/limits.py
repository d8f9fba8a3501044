"""Sets limits that a netlist must keep so that the design can run at its clock once placed."""

MOST_LEVELS = 8  #: LUTs on any path, with the levels that a hard block takes behind its clock
WISHED_LEVELS = 6  #: the same limit, for an easy placement
MOST_CHAINS = 1  #: carry chains on any path
MOST_FAN_OUT = 1_000  #: inputs at one wire, unless a flip-flop drives it, which can be copied
