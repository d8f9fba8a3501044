"""Models a spine with leaves below it; each port of a leaf has a worker, and all are neighbours.

A vertex has the aggregator of the same number in every switch, as planned tables have it
(`sim/switchgnn/planning/levels.py`). In the leaf of its worker it gets the features of that leaf's
other workers and one PARTIAL from the spine; in any other leaf those of all its workers, whose sum
goes up; in the spine a PARTIAL from each other leaf, whose sum goes down.
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
    turns: int = 1

    @property
    def sources(self) -> int:
        """Return the number of workers."""
        return sum(map(len, self.racks))

    def rack_of(self, worker: int) -> int:
        """Return the leaf that a worker is at."""
        return next(k for k, rack in enumerate(self.racks) if worker in rack)

    def up(self, rack: int) -> int:
        """Return the port of a leaf that leads to the spine, after those of its workers."""
        return len(self.racks[rack])

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
        near, up = self.racks[rack], self.up(rack)
        block = {}
        for v in range(self.sources):
            if v in near:
                block[v] = Descriptor(len(near), near.index(v))
            else:
                block[v] = Descriptor(len(near), up, target=v)
        return self.tables(up + 1, block, links={up: rack}, up=up)

    @property
    def spine(self) -> JobSetup:
        """Return what the spine is told; leaf k is at port k."""
        others = len(self.racks) - 1
        block = {v: Descriptor(others, self.rack_of(v), target=v) for v in range(self.sources)}
        links = {k: self.up(k) for k in range(len(self.racks))}
        return self.tables(len(self.racks), block, links=links)

    def all_others(self, turn: int, vertex: int) -> int:
        """Return the sum of a vertex: all others' features."""
        return sum(self.feature(turn, u) for u in range(self.sources) if u != vertex)

    @property
    def nodes(self) -> list[SwitchNode | WorkerNode]:
        """Return all leaves, then the spine, then all workers."""
        spine = len(self.racks)
        nodes: list[SwitchNode | WorkerNode] = []
        for k, rack in enumerate(self.racks):
            peers = {port: (spine + 1 + w, 0) for port, w in enumerate(rack)}
            peers[self.up(k)] = (spine, k)
            nodes.append(self.switch(f"leaf {k}", self.leaf(k), peers))
        nodes.append(self.switch("spine", self.spine, {k: (k, self.up(k)) for k in range(spine)}))
        for w in range(self.sources):
            rack = self.rack_of(w)
            share = Share([Contribution(Kind.FEATURE, w, 1, w)], [w])
            peer = rack, self.racks[rack].index(w)
            nodes.append(self.worker(f"worker {w}", peer, [share], self.all_others))
        return nodes
