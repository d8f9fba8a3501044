"""Describes a plan: which block each edge of the cut graph is done in."""

from dataclasses import dataclass

import numpy as np

from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.saved import Int32s, Saved, refuse


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Saved):
    """Holds the block of each edge; the switch does one block, of at most K destinations, at a
    time.

    A destination with edges in several blocks gets a sum from each, which its worker adds.
    """

    schema = "switchgnn.plan/1"

    kind: str  #: how it was made
    aggregators: int  #: K
    block: Int32s  #: [E], 0..blocks-1 in the order of the cut graph
    level: Int32s  #: [blocks]: 1 unless the plan has several levels

    def check(self) -> None:
        refuse(
            self.aggregators < 2, f"a block needs at least 2 aggregators, not {self.aggregators}"
        )
        used = np.bincount(np.maximum(self.block, 0), minlength=self.blocks)
        refuse(
            (self.block < 0).any() or used.size != self.blocks or not used.all(),
            "every block of a plan has edges, and every edge a block",
        )

    @property
    def blocks(self) -> int:
        """Return the number of blocks."""
        return self.level.size

    @property
    def levels(self) -> int:
        """Return the number of levels."""
        return int(self.level.max(initial=0))

    def check_fits(self, cut: CutGraph) -> None:
        """Raise UserError unless the plan is of this cut graph and no block is too large."""
        refuse(
            self.block.size != cut.edges,
            f"the plan is of {self.block.size} edges, the cut graph has {cut.edges}",
        )
        destinations = np.bincount(
            np.unique(self.block.astype(np.int64) * cut.n + cut.destinations) // cut.n
        )
        refuse(
            destinations.max() > self.aggregators,
            f"block {destinations.argmax()} has {destinations.max()} destinations for"
            f" {self.aggregators} aggregators",
        )


def aggregators_in(memory: float, sums: int) -> int:
    """Return K for a memory of this many bytes, whose aggregators have ``sums`` sums of 4 bytes."""
    return int(memory // (4 * sums))
