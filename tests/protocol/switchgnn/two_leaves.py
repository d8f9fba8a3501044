"""Models spines with leaves below them; other ports of a leaf have workers, and all are neighbours.

A vertex has the aggregator of the same number in every switch, as planned tables have it
(`sim/switchgnn/planning/levels.py`). In the leaf of its worker it gets the features of that leaf's
other workers and one PARTIAL from a spine; in any other leaf those of all its workers, whose sum
goes up; in the spine a PARTIAL from each other leaf, whose sum goes down. Spines take turns with
the vertices, so with two leaves of a worker each, each leaf has no sum for one of two spines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.golden.worker_rule import Contribution, Share
from tests.protocol.switchgnn.nodes import SwitchNode, WorkerNode
from tests.protocol.switchgnn.setup import Setup


@dataclass(frozen=True, kw_only=True)
class TwoLeaves(Setup):
    """Leaves with the workers in ``racks``; worker w has vertex w."""

    racks: Sequence[Sequence[int]] = ((0,), (1,))
    spines: int = 1
    turns: int = 1

    @property
    def sources(self) -> int:
        """Return the number of workers."""
        return sum(map(len, self.racks))

    def rack_of(self, worker: int) -> int:
        """Return the leaf that a worker is at."""
        return next(k for k, rack in enumerate(self.racks) if worker in rack)

    def up(self, rack: int, spine: int = 0) -> int:
        """Return the port of a leaf that leads to a spine, after those of its workers."""
        return len(self.racks[rack]) + spine

    def tables(self, ports: int, block: dict[int, Descriptor], **levels: Any) -> JobSetup:
        """Return a switch's job; worker w's feature has row w, which names all vertices but w."""
        everyone = range(self.sources)
        return self.job(
            ports=(1 << ports) - 1,
            banks=self.sources,
            depth=1,
            blocks=[block],
            rows=[[0 if v != w else None for v in everyone] for w in everyone],
            **levels,
        )

    def leaf(self, rack: int) -> JobSetup:
        """Return what a leaf is told."""
        near, ups = self.racks[rack], [self.up(rack, s) for s in range(self.spines)]
        block = {}
        for v in range(self.sources):
            if v in near:
                block[v] = Descriptor(len(near), near.index(v))
            else:
                block[v] = Descriptor(len(near), ups[v % self.spines], target=v)
        above = sum(1 << up for up in ups)
        return self.tables(ups[-1] + 1, block, links=dict.fromkeys(ups, rack), above=above)

    def spine(self, spine: int) -> JobSetup:
        """Return what a spine is told; leaf k is at port k."""
        others, own = len(self.racks) - 1, range(spine, self.sources, self.spines)
        block = {v: Descriptor(others, self.rack_of(v), target=v) for v in own}
        links = {k: self.up(k, spine) for k in range(len(self.racks))}
        return self.tables(len(self.racks), block, links=links)

    def all_others(self, turn: int, vertex: int) -> int:
        """Return the sum of a vertex: all others' features."""
        return sum(self.feature(turn, u) for u in range(self.sources) if u != vertex)

    @property
    def nodes(self) -> list[SwitchNode | WorkerNode]:
        """Return all leaves, then the spines, then all workers."""
        leaves = len(self.racks)
        workers, spines = leaves + self.spines, range(self.spines)
        nodes: list[SwitchNode | WorkerNode] = []
        for k, rack in enumerate(self.racks):
            peers = {port: (workers + w, 0) for port, w in enumerate(rack)}
            peers |= {self.up(k, s): (leaves + s, k) for s in spines}
            nodes.append(self.switch(f"leaf {k}", self.leaf(k), peers))
        for s in spines:
            down = {k: (k, self.up(k, s)) for k in range(leaves)}
            nodes.append(self.switch(f"spine {s}", self.spine(s), down))
        for w in range(self.sources):
            rack = self.rack_of(w)
            share = Share([Contribution(Kind.FEATURE, w, 1, w)], [w])
            peer = rack, self.racks[rack].index(w)
            nodes.append(self.worker(f"worker {w}", peer, [share], self.all_others))
        return nodes
