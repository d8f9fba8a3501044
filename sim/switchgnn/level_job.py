"""Makes a job on two levels: the golden leaves, spine and workers of planned tables."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.planning.levels import Levels


class LeafJob(PlannedJob):
    """Describes the job of leaf ``rack``: worker w is at port w, the spine behind the last port."""

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
        self.rack, self.up = rack, levels.up

    def setup(self, open_turns: int = 1, ack_every: int = 1) -> JobSetup:
        """Return what the leaf is told; it is at the spine's port with the rack's number."""
        setup = super().setup(open_turns, ack_every)
        links = {self.up: self.rack}
        ports = setup.ports | 1 << self.up
        return replace(with_targets(setup), ports=ports, links=links, up=self.up)


def spine_setup(
    levels: Levels, *, depth: int, window: int, open_turns: int = 1, ack_every: int = 1
) -> JobSetup:
    """Return what the spine is told: the leaf of rack k is behind port k."""
    job = PlannedJob(levels.spine, [], depth=depth, window=window)
    links = dict.fromkeys(range(len(levels.leaves)), levels.up)
    return replace(with_targets(job.setup(open_turns, ack_every)), links=links)


def with_targets(setup: JobSetup) -> JobSetup:
    """Return the setup in which a PARTIAL is for the aggregator of its own number."""
    blocks: list[dict[int, Descriptor]] = [
        {k: replace(one, target=k) for k, one in block.items()} for block in setup.blocks
    ]
    return replace(setup, blocks=blocks)
