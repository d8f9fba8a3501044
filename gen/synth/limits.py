"""Sets limits that a netlist must keep so that the design can run at its clock once placed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gen.synth.synthesis import Synthesis

MOST_LEVELS = 8  #: LUTs on any path, with the levels that a hard block takes behind its clock
WISHED_LEVELS = 6  #: the same limit, for an easy placement
MOST_CHAINS = 1  #: carry chains on any path
MOST_FAN_OUT = 1_000  #: inputs at one wire, unless a flip-flop drives it, which can be copied


def too_slow(synthesis: "Synthesis") -> Iterator[str]:
    """Yield a line for each limit that a design exceeds, so that it may miss its clock.

    Registers at wires between dies are not checked here but in the floorplan.
    """
    depth = synthesis.depth
    if depth.most_levels > MOST_LEVELS:
        yield f"{depth.most_levels} LUT levels on a path, {MOST_LEVELS} are the most"
    if depth.most_chains > MOST_CHAINS:
        yield f"{depth.most_chains} carry chains on a path, {MOST_CHAINS} is the most"
    for module, net in synthesis.crowded:
        yield (
            f"{net.loads:,} loads at {net.driver} of {module.name}, {MOST_FAN_OUT:,} are the most"
            " where no flip-flop drives them"
        )
