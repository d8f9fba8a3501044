"""Models two switches: a leaf with workers A and C, and a spine with the leaf and worker B.

A's and C's features are summed in the leaf for B's vertices; the sums go up as PARTIALs. B's
feature goes up alone and comes down to the leaf as a PARTIAL, where C's is added to it for A. The
leaf ends a turn when the spine has, which waits for B and for the leaf: for A and C.
"""

from dataclasses import dataclass
from functools import partial

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.golden.worker_rule import Contribution, Share
from tests.protocol.switchgnn.nodes import SwitchNode, WorkerNode
from tests.protocol.switchgnn.setup import Setup

LEAF, SPINE, A, B, C = range(5)  # nodes
LEAF_A, LEAF_C, UP = range(3)  # ports of the leaf
DOWN, SPINE_B = range(2)  # ports of the spine
NODES = {"A": A, "B": B, "C": C}
SOURCES = {A: 0, B: 1, C: 2}


@dataclass(frozen=True, kw_only=True)
class TwoLevels(Setup):
    """The two switches with one or two sums for B, each with a PARTIAL upwards."""

    upwards: int = 1

    @property
    def sources(self) -> int:
        """Return the number of workers, each of which has a vertex."""
        return len(SOURCES)

    def right_sum(self, worker: int, turn: int, aggregator: int) -> int:
        """Return a sum: B's first has A's and C's features, its second C's; A's has B's and C's."""
        parts = (B, C) if worker == A else (A, C)[aggregator:]
        return sum(self.feature(turn, SOURCES[node]) for node in parts)

    @property
    def leaf(self) -> JobSetup:
        """Return the leaf's job: aggregator 0 is A's sum, the next ones are parts of B's."""
        parts = {k + 1: Descriptor(2 - k, UP, target=k) for k in range(self.upwards)}
        return self.job(
            ports=0b111,
            banks=1,
            depth=1 + self.upwards,
            blocks=[{0: Descriptor(2, LEAF_A), **parts}],
            rows=[[k] for k in (1, 0, *parts)],
            links={UP: DOWN},
            above=1 << UP,
        )

    @property
    def spine(self) -> JobSetup:
        """Return the spine's job: first come B's sums, and the last aggregator goes down."""
        sums = {k: Descriptor(1, SPINE_B) for k in range(self.upwards)}
        return self.job(
            ports=0b11,
            banks=1,
            depth=self.upwards + 1,
            blocks=[{**sums, self.upwards: Descriptor(1, DOWN, target=0)}],
            rows=[[self.upwards]],
            links={DOWN: UP},
        )

    def share(self, node: int) -> Share:
        """Return a share: A is in B's first sum only; rows are the leaf's, or the spine's for B."""
        if node == A:
            return Share([Contribution(Kind.FEATURE, 0, 1, SOURCES[A])], [0])
        if node == C:
            return Share([Contribution(Kind.FEATURE, 1, 1 + self.upwards, SOURCES[C])])
        sent = Contribution(Kind.FEATURE, 0, 1, SOURCES[B])
        return Share([sent], list(range(self.upwards)))

    @property
    def nodes(self) -> list[SwitchNode | WorkerNode]:
        """Return both switches and the three workers."""
        up = {LEAF_A: (A, 0), LEAF_C: (C, 0), UP: (SPINE, DOWN)}
        down = {DOWN: (LEAF, UP), SPINE_B: (B, 0)}
        switches = [self.switch("leaf", self.leaf, up), self.switch("spine", self.spine, down)]
        peers = {"A": (LEAF, LEAF_A), "B": (SPINE, SPINE_B), "C": (LEAF, LEAF_C)}
        workers = [
            self.worker(name, peer, [self.share(NODES[name])], partial(self.right_sum, NODES[name]))
            for name, peer in peers.items()
        ]
        return [*switches, *workers]
