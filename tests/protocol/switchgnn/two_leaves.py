"""Models a spine with leaves below it; each port of a leaf has a worker, and all are neighbours.

A vertex has the aggregator of the same number in every switch, as planned tables have it
(`sim/switchgnn/planning/levels.py`). In the leaf of its worker it gets the features of that leaf's
other workers and one PARTIAL from the spine; in any other leaf those of all its workers, whose sum
goes up; in the spine a PARTIAL from each other leaf, whose sum goes down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.golden.worker_rule import Contribution, Share, WorkerSetup
from tests.protocol.switchgnn.nodes import Rules, SwitchNode, WorkerNode
from tests.protocol.unordered import Unordered

DIGIT_BITS = 4


@dataclass(frozen=True, kw_only=True)
class TwoLeaves:
    """Leaves with the workers in ``racks``; worker w has vertex w."""

    racks: Sequence[Sequence[int]] = ((0,), (1,))
    turns: int = 1
    window: int = 1
    open_turns: int = 1

    @property
    def workers(self) -> int:
        """Return how many workers there are."""
        return sum(map(len, self.racks))

    def feature(self, turn: int, worker: int) -> int:
        """Return the feature of a worker's vertex."""
        return 1 << DIGIT_BITS * (turn * self.workers + worker)

    def rack_of(self, worker: int) -> int:
        """Return the leaf that a worker is at."""
        return next(k for k, rack in enumerate(self.racks) if worker in rack)

    def up(self, rack: int) -> int:
        """Return the port of a leaf that leads to the spine, after those of its workers."""
        return len(self.racks[rack])

    def job(self, ports: int, block: dict[int, Descriptor], **levels) -> JobSetup:
        """Return a switch's job; worker w's feature has row w, which names all vertices but w."""
        everyone = range(self.workers)
        return JobSetup(
            ports=(1 << ports) - 1,
            banks=self.workers,
            depth=1,
            window=self.window,
            open_turns=self.open_turns,
            blocks=[block],
            rows=[[0 if v != w else None for v in everyone] for w in everyone],
            **levels,
        )

    def leaf(self, rack: int) -> JobSetup:
        """Return what a leaf is told."""
        here, up = self.racks[rack], self.up(rack)
        block = {}
        for v in range(self.workers):
            if v in here:
                block[v] = Descriptor(len(here), here.index(v))
            else:
                block[v] = Descriptor(len(here), up, target=v)
        return self.job(up + 1, block, links={up: rack}, up=up)

    @property
    def spine(self) -> JobSetup:
        """Return what the spine is told; leaf k is at port k."""
        others = len(self.racks) - 1
        block = {v: Descriptor(others, self.rack_of(v), target=v) for v in range(self.workers)}
        links = {k: self.up(k) for k in range(len(self.racks))}
        return self.job(len(self.racks), block, links=links)

    def worker(self, worker: int, rules: Rules) -> WorkerNode:
        """Return a worker at its leaf."""
        rack = self.rack_of(worker)
        share = Share([Contribution(Kind.FEATURE, worker, 1, worker)], [worker])
        everyone = range(self.workers)
        setup = WorkerSetup(
            turns=self.turns,
            window=self.window,
            open_turns=self.open_turns,
            share=lambda turn: share,
            payload=lambda turn, seq: self.feature(turn, worker),
        )
        return WorkerNode(
            name=f"worker {worker}",
            setup=setup,
            peer=(rack, self.racks[rack].index(worker)),
            right_sum=lambda turn, v: sum(self.feature(turn, u) for u in everyone if u != v),
            right_copy=lambda turn, source: 0,
            rules=rules,
        )

    def nodes(self, rules: Rules) -> list[SwitchNode | WorkerNode]:
        """Return all leaves, then the spine, then all workers."""
        spine = len(self.racks)
        nodes: list[SwitchNode | WorkerNode] = []
        for k, rack in enumerate(self.racks):
            peers = {port: (spine + 1 + w, 0) for port, w in enumerate(rack)}
            peers[self.up(k)] = (spine, k)
            nodes.append(self.switch(f"leaf {k}", self.leaf(k), peers, rules))
        peers = {k: (k, self.up(k)) for k in range(spine)}
        nodes.append(self.switch("spine", self.spine, peers, rules))
        return nodes + [self.worker(w, rules) for w in range(self.workers)]

    def switch(
        self, name: str, setup: JobSetup, peers: dict[int, tuple[int, int]], rules: Rules
    ) -> SwitchNode:
        """Return a switch."""
        return SwitchNode(name=name, setup=setup, turns=self.turns, peers=peers, rules=rules)

    def system(self, rules: Rules | None = None) -> Unordered:
        """Return all of them on a network."""
        return Unordered(self.nodes(rules or Rules()))
