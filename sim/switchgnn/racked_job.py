"""Makes a job of leaves, spines and workers from planned tables."""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.evaluation.frames import FrameSizes
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.golden.worker_rule import Share
from sim.switchgnn.job import Place, PlannedJob, Slice
from sim.switchgnn.planning.levels import Levels
from sim.switchgnn.planning.tables import Tables


class LeafJob(PlannedJob):
    """Describes the job of leaf ``rack``: worker w is at port w, spines behind the last ports."""

    def __init__(
        self,
        levels: Levels,
        rack: int,
        features: Sequence[NDArray[np.int16]],
        *,
        depth: int,
        window: int,
    ) -> None:
        super().__init__(levels.leaves[rack], features, depth=depth, window=window)
        self.rack, self.ups = rack, [levels.up + k for k in range(len(levels.spines))]

    def setup(self, open_turns: int = 1, ack_every: int = 1) -> JobSetup:
        """Return what the leaf is told; it is at each spine's port with the rack's number."""
        setup = super().setup(open_turns, ack_every)
        above = sum(1 << up for up in self.ups)
        links = dict.fromkeys(self.ups, self.rack)
        return replace(with_targets(setup), ports=setup.ports | above, links=links, above=above)


def spine_setup(
    levels: Levels,
    spine: int = 0,
    *,
    depth: int,
    window: int,
    open_turns: int = 1,
    ack_every: int = 1,
) -> JobSetup:
    """Return what a spine is told: the leaf of rack k is behind port k."""
    job = PlannedJob(levels.spines[spine], [], depth=depth, window=window)
    links = dict.fromkeys(range(len(levels.leaves)), levels.up + spine)
    return replace(with_targets(job.setup(open_turns, ack_every)), links=links)


def with_targets(setup: JobSetup) -> JobSetup:
    """Return the setup in which a PARTIAL is for the aggregator of its own number."""
    blocks: list[dict[int, Descriptor]] = [
        {k: replace(item, target=k) for k, item in block.items()} for block in setup.blocks
    ]
    return replace(setup, blocks=blocks)


def leaf_name(rack: int) -> str:
    """Return the name of the leaf of a rack."""
    return f"leaf_{rack}"


def spine_name(spine: int) -> str:
    """Return the name of a spine."""
    return f"spine_{spine}"


class RackedJob:
    """Describes a job that runs a turn program once on leaves and spines.

    It stands for a :class:`PlannedJob`, whose arguments it has; workers have the numbers that they
    have in the whole job.
    """

    def __init__(
        self, levels: Levels, features: Sequence[NDArray[np.int16]], *, depth: int, window: int
    ) -> None:
        self.levels, self.depth, self.window = levels, depth, window
        racks = range(len(levels.leaves))
        self.leaves = [LeafJob(levels, k, features, depth=depth, window=window) for k in racks]
        self.at: dict[int, tuple[int, int]] = {  # rack and port of each worker
            worker: (k, port)
            for k, workers in enumerate(levels.workers)
            for port, worker in enumerate(workers.tolist())
        }
        self.shares: list[list[Share]] = [
            self.leaves[k].shares[port] for _, (k, port) in sorted(self.at.items())
        ]

    def with_features(self, features: Sequence[NDArray[np.int16]]) -> Self:
        """Return the job with other features; its tables are not checked again."""
        other = copy(self)
        other.leaves = [leaf.with_features(features) for leaf in self.leaves]
        return other

    @property
    def tables(self) -> Tables:
        """Return the tables of the first leaf, which has the blocks of all."""
        return self.leaves[0].tables

    @property
    def slices(self) -> list[Slice]:
        """Return each turn's slice."""
        return self.leaves[0].slices

    @property
    def places(self) -> list[Place]:
        """Return where each worker is."""
        return [(leaf_name(k), port) for _, (k, port) in sorted(self.at.items())]

    @property
    def cables(self) -> list[tuple[Place, Place]]:
        """Return the links between switches, by their ends: of a leaf and of a spine."""
        return [
            ((leaf_name(leaf.rack), up), (spine_name(spine), leaf.rack))
            for leaf in self.leaves
            for spine, up in enumerate(leaf.ups)
        ]

    @cached_property
    def partials(self) -> NDArray[np.int64]:
        """Return a turn's sums on each of ``cables``, up and down: [2, blocks, cables]."""
        ports = {
            name: [Counter(item.port for item in block.values()) for block in setup.blocks]
            for name, setup in self.setups().items()
        }
        ends = zip(*self.cables, strict=True)
        counts = [[[of[port] for of in ports[name]] for name, port in each] for each in ends]
        return np.array(counts, np.int64).swapaxes(1, 2)

    @cached_property
    def link_bytes(self) -> NDArray[np.int64]:
        """Return what workers, and then leaves by each of ``cables``, send and receive in a turn of
        each block, [2, blocks, workers and cables] bytes: every contribution and sum, once.
        """
        order = np.argsort(np.concatenate(self.levels.workers))
        own = np.concatenate([leaf.link_bytes for leaf in self.leaves], axis=2)[:, :, order]
        between = self.partials * FrameSizes.of(self.tables.lanes).sums
        return np.concatenate([own, between], axis=2)

    bytes = PlannedJob.bytes  #: of the frames on all links, those between switches included

    def setups(self, open_turns: int = 1, ack_every: int = 1) -> dict[str, JobSetup]:
        """Return what each switch is told of the job."""
        leaves = {leaf_name(leaf.rack): leaf.setup(open_turns, ack_every) for leaf in self.leaves}
        sizes = {"depth": self.depth, "window": self.window}
        turns = {"open_turns": open_turns, "ack_every": ack_every}
        return leaves | {
            spine_name(k): spine_setup(self.levels, k, **sizes, **turns)
            for k in range(len(self.levels.spines))
        }

    def worker(self, worker: int, job: int, epoch: int, open_turns: int = 1) -> WorkerModel:
        """Make a worker, all of whose features are there."""
        rack, port = self.at[worker]
        return self.leaves[rack].worker(port, job, epoch, open_turns)

    def sums(self, workers: Sequence[WorkerModel]) -> list[NDArray[np.int64]]:
        """Return each aggregation's sums [vertices, its width], without edges inside workers."""
        each = [
            leaf.sums([workers[worker] for worker in own.tolist()])
            for leaf, own in zip(self.leaves, self.levels.workers, strict=True)
        ]
        return [np.sum(of_racks, axis=0) for of_racks in zip(*each, strict=True)]
