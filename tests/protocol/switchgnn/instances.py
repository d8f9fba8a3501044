"""Cuts small graphs between two or three workers, as jobs of one switch or of two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step
from sim.switchgnn.golden.worker_rule import Contribution, Copy, Share
from tests.protocol.switchgnn.nodes import SwitchNode, WorkerNode
from tests.protocol.switchgnn.setup import Setup

NAMES = "ABC"


@dataclass(frozen=True, kw_only=True)
class Instance(Setup):
    """Vertices with their workers, and the edges between workers, by blocks of destinations."""

    owners: Sequence[int]  # by vertex
    edges: Mapping[int, Sequence[int]]  # by source: destinations
    copies: Mapping[int, Sequence[int]] = field(default_factory=dict)  # by source: workers
    blocks: Sequence[Sequence[int]] = ()  # destinations of each; as they are numbered in it
    program: Sequence[Step] = (Step(0, 1),)

    @cached_property
    def sources(self) -> int:
        """Return the number of vertices."""
        return len(self.owners)

    @cached_property
    def workers(self) -> int:
        """Return the number of workers."""
        return max(self.owners) + 1

    @cached_property
    def all_blocks(self) -> Sequence[Sequence[int]]:
        """Return the blocks; one with all vertices, unless there are others."""
        return self.blocks or [range(len(self.owners))]

    def within(self, source: int, block: int) -> list[int]:
        """Return the aggregators that a source is added to."""
        places = self.all_blocks[block]
        return [k for k, vertex in enumerate(places) if vertex in self.edges.get(source, ())]

    def sources_of(self, block: int, aggregator: int) -> list[int]:
        """Return what makes a sum."""
        return [u for u in range(len(self.owners)) if aggregator in self.within(u, block)]

    @cached_property
    def rows(self) -> list[list[int]]:
        """Return the lists of all sources, block by block, with one aggregator in a row."""
        vertices = range(len(self.owners))
        blocks = range(len(self.all_blocks))
        return [[k] for block in blocks for u in vertices for k in self.within(u, block)]

    def first_row(self, source: int, block: int) -> int:
        """Return where the list of a source begins."""
        vertices = range(len(self.owners))
        lists = [(b, u) for b in range(len(self.all_blocks)) for u in vertices]
        before = lists[: lists.index((block, source))]
        return sum(len(self.within(u, b)) for b, u in before)

    @cached_property
    def whole(self) -> JobSetup:
        """Return the switch's job."""
        blocks = []
        for number, block in enumerate(self.all_blocks):
            expected = {k: len(self.sources_of(number, k)) for k in range(len(block))}
            blocks.append(
                {k: Descriptor(n, self.owners[block[k]]) for k, n in expected.items() if n}
            )
        return self.job(
            ports=(1 << self.workers) - 1,
            banks=1,
            depth=max(map(len, self.all_blocks)),
            blocks=blocks,
            program=self.program,
            rows=self.rows,
        )

    def share(self, worker: int, block: int) -> Share:
        """Return a worker's part of a block."""
        sends, gets = [], []
        for source, owner in enumerate(self.owners):
            copies = self.copies.get(source, ())
            if worker in copies:
                gets.append(Copy(source, owner))
            rows = self.within(source, block)
            if owner == worker and (rows or copies):
                ports = sum(1 << k for k in copies)
                first = self.first_row(source, block)
                sends.append(Contribution(Kind.FEATURE, first, len(rows), source, ports))
        numbered = enumerate(self.all_blocks[block])
        own = [k for k, vertex in numbered if self.owners[vertex] == worker]
        return Share(sends, [k for k in own if self.sources_of(block, k)], gets)

    def right_sum(self, turn: int, aggregator: int) -> int:
        """Return what an aggregator must come to."""
        sources = self.sources_of(self.block(turn), aggregator)
        return sum(self.feature(turn, u) for u in sources)

    def block(self, turn: int) -> int:
        """Return which block of edges a turn has."""
        return self.whole.block(turn)

    @property
    def nodes(self) -> list[SwitchNode | WorkerNode]:
        """Return one switch, node 0, and all workers."""
        peers = {k: (k + 1, 0) for k in range(self.workers)}
        nodes: list[SwitchNode | WorkerNode] = [self.switch("switch", self.whole, peers)]
        for k in range(self.workers):
            shares = [self.share(k, block) for block in range(len(self.all_blocks))]
            nodes.append(self.worker(NAMES[k], (0, k), shares, self.right_sum))
        return nodes


#: Two vertices of A, whose sum B gets; one of B, which is in two sums of A.
PAIR = Instance(owners=[0, 0, 1], edges={0: [2], 1: [2], 2: [0, 1]})
#: A vertex a worker, all neighbours.
TRIANGLE = Instance(owners=[0, 1, 2], edges={0: [1, 2], 1: [0, 2], 2: [0, 1]})
#: Two vertices of A, one of them B's neighbour in both directions: A gets one sum, B another.


#: Two blocks that have the same aggregators, turn about.
LOADS = {"blocks": [[0, 2], [1]], "program": [Step(0, 1), Step(1, 1)], "late_loads": True}
COPIES = {"copies": {0: [1], 2: [0]}}
