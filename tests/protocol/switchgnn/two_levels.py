"""Models two switches: a leaf with workers A and C, and a spine with the leaf and worker B.

A's and C's features are summed in the leaf for B's vertices; the sums go up as PARTIALs. B's
feature goes up alone and comes down to the leaf as a PARTIAL, where C's is added to it for A. The
leaf ends a turn when the spine has, which waits for B and for the leaf: for A and C.
"""

from dataclasses import dataclass

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.golden.worker_rule import Contribution, Share, WorkerSetup
from tests.protocol.switchgnn.nodes import FAULTS, Rules, SwitchNode, WorkerNode
from tests.protocol.unordered import Unordered

LEAF, SPINE, A, B, C = range(5)  # nodes
LEAF_A, LEAF_C, UP = range(3)  # ports of the leaf
DOWN, SPINE_B = range(2)  # ports of the spine
NODES = {"A": A, "B": B, "C": C}
SOURCES = {A: 0, B: 1, C: 2}
DIGIT_BITS = 4


@dataclass(frozen=True, kw_only=True)
class TwoLevels:
    """The two switches with one or two sums for B, each with a PARTIAL upwards."""

    upwards: int = 1
    turns: int = 2
    window: int = 1
    open_turns: int = 1
    late_sums: bool = False

    def feature(self, turn: int, node: int) -> int:
        """Return the feature of a worker's vertex."""
        return 1 << DIGIT_BITS * (turn * len(SOURCES) + SOURCES[node])

    def right_sum(self, worker: int, turn: int, aggregator: int) -> int:
        """Return a sum: B's first has A's and C's features, its second C's; A's has B's and C's."""
        parts = (B, C) if worker == A else (A, C)[aggregator:]
        return sum(self.feature(turn, node) for node in parts)

    @property
    def leaf(self) -> JobSetup:
        """Return the leaf's job: aggregator 0 is A's sum, the next ones are parts of B's."""
        parts = {k + 1: Descriptor(2 - k, UP, target=k) for k in range(self.upwards)}
        return JobSetup(
            ports=0b111,
            banks=1,
            depth=1 + self.upwards,
            window=self.window,
            open_turns=self.open_turns,
            blocks=[{0: Descriptor(2, LEAF_A), **parts}],
            rows=[[k] for k in (1, 0, *parts)],
            links={UP: DOWN},
            up=UP,
        )

    @property
    def spine(self) -> JobSetup:
        """Return the spine's job: first come B's sums, and the last aggregator goes down."""
        sums = {k: Descriptor(1, SPINE_B) for k in range(self.upwards)}
        return JobSetup(
            ports=0b11,
            banks=1,
            depth=self.upwards + 1,
            window=self.window,
            open_turns=self.open_turns,
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

    def worker(self, node: int, peer: tuple[int, int], rules: Rules) -> WorkerNode:
        """Return a worker."""
        share = self.share(node)
        setup = WorkerSetup(
            turns=self.turns,
            window=self.window,
            open_turns=self.open_turns,
            share=lambda turn: share,
            payload=lambda turn, seq: self.feature(turn, node),
        )
        return WorkerNode(
            name=next(name for name, place in NODES.items() if place == node),
            setup=setup,
            peer=peer,
            right_sum=lambda turn, aggregator: self.right_sum(node, turn, aggregator),
            right_copy=lambda turn, source: 0,
            rules=rules,
            watched=FAULTS,
        )

    def switch(
        self, name: str, setup: JobSetup, peers: dict[int, tuple[int, int]], rules: Rules
    ) -> SwitchNode:
        """Return a switch."""
        return SwitchNode(
            name=name,
            setup=setup,
            turns=self.turns,
            peers=peers,
            rules=rules,
            late_sums=self.late_sums,
        )

    def nodes(self, rules: Rules) -> list[SwitchNode | WorkerNode]:
        """Return both switches and the three workers."""
        up = {LEAF_A: (A, 0), LEAF_C: (C, 0), UP: (SPINE, DOWN)}
        down = {DOWN: (LEAF, UP), SPINE_B: (B, 0)}
        return [
            self.switch("leaf", self.leaf, up, rules),
            self.switch("spine", self.spine, down, rules),
            self.worker(A, (LEAF, LEAF_A), rules),
            self.worker(B, (SPINE, SPINE_B), rules),
            self.worker(C, (LEAF, LEAF_C), rules),
        ]

    def system(self, rules: Rules | None = None) -> Unordered:
        """Return all of them on a network."""
        return Unordered(self.nodes(rules or Rules()))
