"""Draws graphs that are cut between workers, with the tables and features of a job."""

from collections import defaultdict

import numpy as np

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.golden.worker_rule import Contribution, Copy, Share, WorkerSetup
from sim.switchgnn.links import Faults, Links

LANES = 3
FAULTS = Faults(drop=0.3, duplicate=0.3, reorder=1.0, corrupt=0.03, again=0.1)
EARLY = 0.01  # the chance that timers run out with every frame


class Cut:
    """A random graph cut between workers, its tables, and features for some turns.

    With ``maximum``, a destination gets its sources' largest features in place of their sum.
    """

    def __init__(
        self,
        rng,
        *,
        ports,
        banks,
        depth,
        open_turns,
        blocks,
        window,
        steps=2,
        lanes=LANES,
        maximum=False,
    ):
        self.maximum, self.combined = maximum, np.max if maximum else np.sum
        self.rng, self.ports, self.banks, self.depth = rng, ports, banks, depth
        self.window, self.open_turns = window, open_turns
        size = int(rng.integers(2, banks * depth + 1))
        n = size * blocks
        self.owner = rng.choice(ports, n)
        edges = rng.random((n, n)) < rng.uniform(0.1, 0.6)
        self.edges = edges & (self.owner[:, None] != self.owner)  # destination, source
        self.copied = {u: {int(p) for p in rng.choice(ports, 1)} for u in rng.choice(n, 3)}
        self.destinations = np.split(rng.permutation(n), blocks)
        self.place = {}  # aggregator of a destination in its block
        for block in self.destinations:
            places = rng.choice(banks * depth, size, replace=False)
            self.place |= dict(zip(map(int, block), map(int, places), strict=True))
        program = [Step(int(b), int(rng.integers(1, 3))) for b in rng.permutation(blocks)]
        self.program = program * (steps if blocks == 1 else 1)
        self.turns = sum(step.turns for step in self.program) + 1  # the first block once more
        low = rng.integers(2, size=(self.turns, n, lanes)) * -65535 + 32767  # the extremes
        some = rng.integers(-(1 << 15), 1 << 15, (self.turns, n, lanes))
        self.features = np.where(rng.random(low.shape) < 0.3, low, some)
        self.rows, self.lists = [], {}
        for number, block in enumerate(self.destinations):
            for source in range(n):
                self.lists[number, source] = self.list_of(source, block)
        self.shares = {
            (port, number): self.share(port, number) for port in ports for number in range(blocks)
        }

    def partial_of(self, port, destination):
        """Return sources that a worker adds up by itself, for every third destination."""
        if destination % 3:
            return []
        sources = np.flatnonzero(self.edges[destination])
        return [int(u) for u in sources if self.owner[u] == port]

    def list_of(self, source, block):
        """Return first row and number of rows: as many as the fullest bank has aggregators."""
        columns = defaultdict(list)
        for v in block:
            if self.edges[v, source] and v % 3:
                index, bank = divmod(self.place[int(v)], self.banks)
                columns[bank].append(index)
        count = max(map(len, columns.values()), default=0)
        first = len(self.rows)
        for k in range(count):
            self.rows.append([(columns[b][k : k + 1] or [None])[0] for b in range(self.banks)])
        return first, count

    def share(self, port, number):
        """Return what a worker sends and gets in a block."""
        block, sends = [int(v) for v in self.destinations[number]], []
        for u in np.flatnonzero(self.owner == port):
            first, count = self.lists[number, int(u)]
            raw = sum(1 << p for p in self.copied.get(u, ()) if p != port)
            if count or raw:
                sends.append(Contribution(Kind.FEATURE, first, count, int(u), raw))
        for v in block:
            if self.partial_of(port, v):
                sends.append(Contribution(Kind.PARTIAL, self.place[v], source=0))
        sends = [sends[k] for k in self.rng.permutation(len(sends))]
        sums = [self.place[v] for v in block if self.owner[v] == port and self.edges[v].any()]
        copies = [
            Copy(int(u), int(self.owner[u]))
            for u, to in self.copied.items()
            if port in to and self.owner[u] != port
        ]
        return Share(sends, sums, copies)

    def expected(self, v):
        """Return contributions to a sum: features, or one of each worker that adds by itself."""
        sources = np.flatnonzero(self.edges[v])
        return len(sources) if v % 3 else len({int(self.owner[u]) for u in sources})

    def setup(self):
        """Return the switch's tables."""
        blocks = [
            {
                self.place[int(v)]: Descriptor(self.expected(v), int(self.owner[v]))
                for v in block
                if self.edges[v].any()
            }
            for block in self.destinations
        ]
        return JobSetup(
            ports=sum(1 << port for port in self.ports),
            banks=self.banks,
            depth=self.depth,
            window=self.window,
            open_turns=self.open_turns,
            ack_every=2,
            blocks=blocks,
            program=self.program,
            rows=self.rows,
            maximum=self.maximum,
        )

    def worker(self, port, job, epoch):
        """Return a worker with its share."""
        block = self.setup().block

        def payload(turn, seq):
            sent = self.shares[port, block(turn)].sends[seq]
            if sent.kind is Kind.FEATURE:
                return self.features[turn, sent.source]
            v = self.destination(turn, sent.list)
            return self.combined(self.features[turn, self.partial_of(port, v)], axis=0)

        setup = WorkerSetup(
            turns=self.turns,
            window=self.window,
            open_turns=self.open_turns,
            share=lambda turn: self.shares[port, block(turn)],
            payload=payload,
        )
        return WorkerModel(setup, port, job, epoch, ready=self.turns)

    def destination(self, turn, aggregator):
        """Return the vertex of an aggregator."""
        vertices = self.destinations[self.setup().block(turn)]
        return next(int(v) for v in vertices if self.place[int(v)] == aggregator)

    def check(self, workers):
        """Check all sums, or maxima, in int64, and all copies, where they belong."""
        features = self.features.astype(np.int64)
        for turn in range(self.turns):
            for v in self.destinations[self.setup().block(turn)]:
                for port, worker in workers.items():
                    at = turn, self.place[int(v)]
                    assert (at in worker.sums) == (port == self.owner[v] and self.edges[v].any())
                    if at in worker.sums:
                        right = self.combined(features[turn, self.edges[v]], axis=0)
                        assert worker.sums[at].tolist() == right.tolist()
            for u, to in self.copied.items():
                for port in to - {self.owner[u]}:
                    copy = workers[port].copies[turn, u]
                    assert copy.tolist() == self.features[turn, u].tolist()


def bad_links(rng, lanes=LANES):
    return Links(rng, lanes=lanes, faults=FAULTS)
