"""Aggregates by the golden switch and workers, frame by frame, on links that may be bad."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.links import Faults, Links, Place, join, run
from sim.switchgnn.planning.preparation import PLANS, prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.tables import Tables, with_program
from sim.switchgnn.planning.workers import WorkerPartition

SWITCH: Place = "switch"
JOB = 0
EPOCHS = 1 << 16  #: number of epochs of a job: numbers that tell its runs apart
MAX_ACK_EVERY = 8


@dataclass(frozen=True, kw_only=True)
class SwitchSetup:
    """Describes a switch, how its work is planned, and the links around it."""

    shape: SwitchShape
    window: int  #: W
    plan: str = PLANS[0]
    order: str = "priority-bfs"
    quick: bool = False  #: whether it chooses partial sums and copies, as ``prepare`` does
    seed: int = 1  #: seed of the plan, the order and the links' faults
    faults: Faults = Faults()  # noqa: RUF009 - it is frozen

    @property
    def ack_every(self) -> int:
        """Return the number of frames that one ACK answers."""
        return min(self.window, MAX_ACK_EVERY)


class Planner:
    """Plans aggregations on a switch, once for each graph."""

    def __init__(self, setup: SwitchSetup) -> None:
        self.setup = setup
        self.built: list[tuple[csr_array, dict[int, Tables]]] = []

    def planned(
        self, adjacency: csr_array, partition: WorkerPartition, widths: Sequence[int]
    ) -> dict[int, Tables]:
        """Return the tables of one aggregation of each of ``widths``: only their programs differ.

        Asked for the same graph, it gives what it gave before; partition and widths are the same.
        UserError for what the switch has no room for.
        """
        for known, tables in self.built:
            if known is adjacency:
                return tables
        setup = self.setup
        built = prepare(
            adjacency,
            partition,
            setup.shape,
            [max(widths)],
            plan=setup.plan,
            order=setup.order,
            quick=setup.quick,
            seed=setup.seed,
        ).tables
        tables = {width: with_program(built, setup.shape, [width]) for width in widths}
        self.built.append((adjacency, tables))
        return tables


class GoldenAggregator:
    """Aggregates on a golden switch, whose job is started anew for each aggregation.

    Runs of the job are told apart by their epochs, and what is left of one on the links is refused
    in the next.
    """

    def __init__(
        self,
        adjacency: csr_array,
        partition: WorkerPartition,
        widths: Sequence[int],
        planner: Planner,
    ) -> None:
        setup = self.setup = planner.setup
        shape = self.shape = setup.shape
        self.epoch = 0
        self.jobs = {
            width: PlannedJob(tables, [], depth=deepest(tables), window=setup.window)
            for width, tables in planner.planned(adjacency, partition, widths).items()
        }
        self.switch = SwitchModel(ports=shape.ports, banks=shape.banks, depth=shape.depth, jobs=1)
        rng = np.random.default_rng(setup.seed)
        self.links = Links(rng, lanes=shape.lanes, faults=setup.faults)
        self.links.ends[SWITCH] = self.switch.take
        self.repeats = 0  #: frames that workers have repeated
        self.planned_bytes = 0

    def aggregate(self, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums, from the switch; raise RunFailed if they do not come."""
        planned = self.jobs[features.shape[1]]
        job = planned.with_features([features])
        self.planned_bytes += planned.bytes
        self.epoch = (self.epoch + 1) % EPOCHS
        setup = job.setup(self.shape.open_turns, self.setup.ack_every)
        refusal = self.switch.start_job(JOB, setup=setup, epoch=self.epoch, base=0)
        assert refusal is None, refusal
        workers: dict[Place, WorkerModel] = {
            port: job.worker(port, JOB, self.epoch, self.shape.open_turns)
            for port in range(job.tables.workers)
        }
        for port, worker in workers.items():
            join(self.links, port, worker, SWITCH, int(port))
        run(self.links, {SWITCH: self.switch}, workers)
        self.repeats += sum(worker.repeats for worker in workers.values())
        assert not self.switch.table.active[JOB].errors, self.switch.table.active[JOB].first_error
        (sums,) = job.sums(list(workers.values()))
        return sums

    @property
    def counts(self) -> Counter[str]:
        """Return all of the aggregator's COUNTERS."""
        counts, links = self.switch.counts, self.links.counts
        return Counter(
            {name: links[name] for name in ("frames", "bytes")}
            | {"lost": links["drop"] + links["corrupt"], "planned_bytes": self.planned_bytes}
            | {name: getattr(counts, name) for name in ("rows", "additions", "turns", "marks")}
            | {"repeats": self.repeats + counts.repeats, "cycles": 0, "halvings": 0}
        )


def deepest(tables: Tables) -> int:
    """Return the most aggregators of a bank that a block has."""
    return int(np.diff(tables.descriptor_first).max())
