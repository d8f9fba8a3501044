"""What a design must keep to run at its clock, counted in a netlist before anything is placed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gen.synth.synthesis import Synthesis

MOST_LEVELS = 8  #: LUTs on any path, with the levels that a hard block takes behind its clock
WISHED_LEVELS = 6  #: the same, for a placement with ease
MOST_CHAINS = 1  #: carry chains on any path
MOST_FAN_OUT = 1_000  #: inputs at one wire, unless a flip-flop drives it, which can be copied


def too_slow(synthesis: "Synthesis") -> Iterator[str]:
    """Why a design may miss its clock, a line for each limit that it passes; none if it keeps all.

    Whether wires between dies have registers is the floorplan's to say.
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
