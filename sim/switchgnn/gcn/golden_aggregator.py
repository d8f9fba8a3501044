"""Aggregates by the golden switch and workers, frame by frame, on links that may be bad."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.links import Faults, Links, Place, join, run
from sim.switchgnn.planning.levels import levels
from sim.switchgnn.planning.preparation import PLANS, Prepared, prepare
from sim.switchgnn.planning.saved import refuse
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.tables import Tables, with_program
from sim.switchgnn.planning.workers import WorkerPartition
from sim.switchgnn.racked_job import RackedJob

Jobs = dict[int, PlannedJob] | dict[int, RackedJob]  #: jobs by the width of what is added
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
    racks: int = 1  #: racks that the workers are in, in their order, with such a switch each
    spines: int = 0  #: switches above these, to each of which a port of each of them leads

    @property
    def ack_every(self) -> int:
        """Return the number of frames that one ACK answers."""
        return min(self.window, MAX_ACK_EVERY)


class Planner:
    """Plans aggregations on a switch, once for each graph."""

    def __init__(self, setup: SwitchSetup) -> None:
        self.setup = setup
        self.built: list[tuple[csr_array, Prepared, dict[int, Tables]]] = []

    def planned(
        self, adjacency: csr_array, partition: WorkerPartition, widths: Sequence[int]
    ) -> dict[int, Tables]:
        """Return the tables of one aggregation of each of ``widths``: only their programs differ.

        Asked for the same graph, it gives what it gave before; partition and widths are the same.
        UserError for what the switch has no room for.
        """
        return self._built(adjacency, partition, widths)[1]

    def jobs(self, adjacency: csr_array, partition: WorkerPartition, widths: Sequence[int]) -> Jobs:
        """Return the job of one aggregation of each of ``widths``, without features."""
        setup = self.setup
        built, tables = self._built(adjacency, partition, widths)
        sizes = {"depth": deepest(built.tables), "window": setup.window}
        if setup.racks == 1:
            return {width: PlannedJob(tables[width], [], **sizes) for width in widths}
        rack = np.arange(partition.workers) * setup.racks // partition.workers
        divided = levels(built, rack, setup.shape.ports, setup.spines)
        longest = max(len(leaf.rows) for leaf in divided.leaves)
        refuse(
            longest > setup.shape.rows,
            f"the lists of a rack have {longest} rows of {setup.shape.banks} entries, its switch's"
            f" memory holds {setup.shape.rows}",
        )
        return {
            width: RackedJob(divided.with_program(setup.shape, [width]), [], **sizes)
            for width in widths
        }

    def _built(
        self, adjacency: csr_array, partition: WorkerPartition, widths: Sequence[int]
    ) -> tuple[Prepared, dict[int, Tables]]:
        """Return the plan of a graph, and its tables for each width."""
        for known, built, tables in self.built:
            if known is adjacency:
                return built, tables
        setup = self.setup
        shape = setup.shape
        if setup.racks > 1:  # a plan has all workers at one switch, before it is divided
            shape = replace(shape, ports=partition.workers, rows=setup.racks * shape.rows)
        built = prepare(
            adjacency,
            partition,
            shape,
            [max(widths)],
            plan=setup.plan,
            order=setup.order,
            quick=setup.quick,
            seed=setup.seed,
        )
        tables = {width: with_program(built.tables, setup.shape, [width]) for width in widths}
        self.built.append((adjacency, built, tables))
        return built, tables


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
        self.jobs: Jobs = planner.jobs(adjacency, partition, widths)
        first = self.jobs[widths[0]]
        self.switches: dict[Place, SwitchModel] = {
            name: SwitchModel(
                ports=used.ports.bit_length(), banks=shape.banks, depth=shape.depth, jobs=1
            )
            for name, used in first.setups().items()
        }
        rng = np.random.default_rng(setup.seed)
        self.links = Links(rng, lanes=shape.lanes, faults=setup.faults)
        for place, switch in self.switches.items():
            self.links.ends[place] = switch.take
        for cable in first.cables:
            self.links.connect(*cable)
        self.repeats = 0  #: frames that workers have repeated
        self.planned_bytes = 0

    def aggregate(self, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums, from the switch; raise RunFailed if they do not come."""
        planned = self.jobs[features.shape[1]]
        job = planned.with_features([features])
        self.planned_bytes += planned.bytes
        self.epoch = (self.epoch + 1) % EPOCHS
        for name, setup in job.setups(self.shape.open_turns, self.setup.ack_every).items():
            refusal = self.switches[name].start_job(JOB, setup=setup, epoch=self.epoch, base=0)
            assert refusal is None, refusal
        workers: dict[Place, WorkerModel] = {
            worker: job.worker(worker, JOB, self.epoch, self.shape.open_turns)
            for worker in range(len(job.places))
        }
        for worker, (name, port) in enumerate(job.places):
            join(self.links, worker, workers[worker], name, port)
        run(self.links, self.switches, workers)
        self.repeats += sum(worker.repeats for worker in workers.values())
        for switch in self.switches.values():
            assert not switch.table.active[JOB].errors, switch.table.active[JOB].first_error
        (sums,) = job.sums(list(workers.values()))
        return sums

    @property
    def counts(self) -> Counter[str]:
        """Return all of the aggregator's COUNTERS."""
        links, each = self.links.counts, [switch.counts for switch in self.switches.values()]
        total = sum((Counter(vars(counts)) for counts in each), Counter())
        return Counter(
            {name: links[name] for name in ("frames", "bytes")}
            | {"lost": links["drop"] + links["corrupt"], "planned_bytes": self.planned_bytes}
            | {name: total[name] for name in ("rows", "additions", "marks")}
            | {"turns": each[0].turns, "repeats": self.repeats + total["repeats"]}
            | {"cycles": 0, "halvings": 0}
        )


def deepest(tables: Tables) -> int:
    """Return the most aggregators of a bank that a block has."""
    return int(np.diff(tables.descriptor_first).max())
