"""Makes a job of a switch and its workers from planned tables."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.evaluation.frames import FrameSizes
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.golden.worker_rule import Contribution, Share, WorkerSetup
from sim.switchgnn.planning.tables import FEATURE, PORT_SHIFT, VALID, Tables

SWITCH = "switch"  #: name of a job's only switch
Place = tuple[str, int]  #: a switch, and a port of it


class Slice(NamedTuple):
    """Says what a turn does: features ``begin`` and up of an aggregation, for a block."""

    aggregation: int
    block: int
    begin: int


class PlannedJob:
    """Describes a job that runs the turn program of ``tables`` once, worker w at port w.

    ``features`` are those of each aggregation of the program: [vertices, its width], int16.
    ``depth`` is the number of aggregators that a turn has in each bank.
    """

    def __init__(
        self, tables: Tables, features: Sequence[NDArray[np.int16]], *, depth: int, window: int
    ) -> None:
        self.tables, self.features = tables, features
        self.depth, self.window = depth, window
        shares = range(tables.workers), range(tables.blocks)
        self.shares = [[self.share(worker, block) for block in shares[1]] for worker in shares[0]]

    def with_features(self, features: Sequence[NDArray[np.int16]]) -> Self:
        """Return the job with other features; its tables are not checked again."""
        other = copy(self)
        other.features = features
        return other

    @property
    def places(self) -> list[Place]:
        """Return where each worker is."""
        return [(SWITCH, worker) for worker in range(self.tables.workers)]

    @property
    def cables(self) -> list[tuple[Place, Place]]:
        """Return the links between switches, by their ends."""
        return []

    @cached_property
    def slices(self) -> list[Slice]:
        """Return each turn's slice: all of a block, then the next; then the next aggregation."""
        tables = self.tables
        return [
            Slice(aggregation, block, begin)
            for aggregation, width in enumerate(tables.widths.tolist())
            for block in range(tables.blocks)
            for begin in range(0, width, tables.lanes)
        ]

    @cached_property
    def link_bytes(self) -> NDArray[np.int64]:
        """Return what workers send and receive in a turn of each block, [2, blocks, workers] bytes:
        every contribution and sum, once.
        """
        sizes = FrameSizes.of(self.tables.lanes)
        of_kind = {Kind.FEATURE: sizes.feature, Kind.PARTIAL: sizes.sums}
        sent = [[sum(of_kind[c.kind] for c in s.sends) for s in own] for own in self.shares]
        received = [[sizes.sums * len(s.sums) for s in own] for own in self.shares]
        return np.array([sent, received], np.int64).swapaxes(1, 2)

    @cached_property
    def bytes(self) -> int:
        """Return the bytes of the frames that the job needs."""
        of_blocks = np.sum(self.link_bytes, axis=(0, 2))
        return sum(int(of_blocks[item.block]) for item in self.slices)

    def setup(self, open_turns: int = 1, ack_every: int = 1) -> JobSetup:
        """Return what the switch is told of the job."""
        tables = self.tables
        return JobSetup(
            ports=(1 << tables.workers) - 1,
            banks=tables.banks,
            depth=self.depth,
            window=self.window,
            open_turns=open_turns,
            ack_every=ack_every,
            blocks=[self.descriptors(block) for block in range(tables.blocks)],
            program=[Step(*step) for step in tables.program.tolist()],
            rows=[[index_of(entry) for entry in row] for row in tables.rows.tolist()],
        )

    def setups(self, open_turns: int = 1, ack_every: int = 1) -> dict[str, JobSetup]:
        """Return what each switch is told of the job."""
        return {SWITCH: self.setup(open_turns, ack_every)}

    def descriptors(self, block: int) -> dict[int, Descriptor]:
        """Return what is loaded for a block, by aggregator."""
        first, end = self.tables.descriptor_first[block : block + 2].tolist()
        loaded = enumerate(self.tables.descriptors[first:end].ravel().tolist())
        expected = (1 << PORT_SHIFT) - 1
        return {k: Descriptor(d & expected, d >> PORT_SHIFT) for k, d in loaded if d & expected}

    def packets(self, worker: int, block: int) -> range:
        """Return the packets of a worker in each turn of a block."""
        group = worker * self.tables.blocks + block
        return range(*self.tables.packet_first[group : group + 2].tolist())

    def share(self, worker: int, block: int) -> Share:
        """Return what a worker sends and gets in each turn of a block."""
        tables = self.tables
        sends = []
        for packet in self.packets(worker, block):
            feature = tables.packet_kind[packet] == FEATURE
            vertex = int(tables.summand[tables.summand_first[packet]]) if feature else 0
            kind = Kind.FEATURE if feature else Kind.PARTIAL
            place, count = int(tables.packet_list[packet]), int(tables.packet_rows[packet])
            sends.append(Contribution(kind, place, count, vertex))
        loaded = self.descriptors(block).items()
        return Share(sends, [k for k, descriptor in loaded if descriptor.port == worker])

    def payload(self, worker: int, turn: int, seq: int) -> NDArray[np.int32]:
        """Return what a packet carries, with zeros behind the last feature."""
        tables, item = self.tables, self.slices[turn]
        packet = self.packets(worker, item.block)[seq]
        vertices = tables.summand[slice(*tables.summand_first[packet : packet + 2])]
        lanes = self.features[item.aggregation][vertices, item.begin : item.begin + tables.lanes]
        payload = np.zeros(tables.lanes, np.int32)
        payload[: lanes.shape[1]] = lanes.sum(0)
        return payload

    def worker(self, worker: int, job: int, epoch: int, open_turns: int = 1) -> WorkerModel:
        """Make a worker, all of whose features are there."""
        setup = WorkerSetup(
            turns=len(self.slices),
            window=self.window,
            open_turns=open_turns,
            share=lambda turn: self.shares[worker][self.slices[turn].block],
            payload=lambda turn, seq: self.payload(worker, turn, seq),
        )
        return WorkerModel(setup, worker, job, epoch, ready=setup.turns)

    def sums(self, workers: Sequence[WorkerModel]) -> list[NDArray[np.int64]]:
        """Return each aggregation's sums [vertices, its width], without edges inside workers."""
        tables = self.tables
        sums = [np.zeros(features.shape, np.int64) for features in self.features]
        for worker in workers:
            for (turn, aggregator), result in worker.sums.items():
                aggregation, block, begin = self.slices[turn]
                first = tables.descriptor_first[block] * tables.banks
                vertex = tables.result_vertex.ravel()[first + aggregator]
                lanes = sums[aggregation][vertex, begin : begin + tables.lanes]
                lanes += result[: lanes.size]
        return sums


def index_of(entry: int) -> int | None:
    """Return the index that an entry of a row names; None if it is not valid."""
    return entry & VALID - 1 if entry & VALID else None
