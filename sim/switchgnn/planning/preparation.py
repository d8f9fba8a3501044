"""Does all steps, one after the other, from a graph to a job's tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.planning.banks import BankPlacement, placed
from sim.switchgnn.planning.choices import PLANS
from sim.switchgnn.planning.cut import CutGraph, cut_graph
from sim.switchgnn.planning.destinations import PARTITIONERS, destination_plan
from sim.switchgnn.planning.multilevel import multilevel_plan
from sim.switchgnn.planning.orders import SendOrder, ordered
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.quickest import quickest
from sim.switchgnn.planning.saved import Saved
from sim.switchgnn.planning.senders import Senders, senders_of
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.tables import Tables, tables
from sim.switchgnn.planning.workers import WorkerPartition


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Holds the result of each step."""

    workers: WorkerPartition
    cut: CutGraph
    plan: Plan
    senders: Senders
    order: SendOrder
    banks: BankPlacement
    tables: Tables

    @property
    def steps(self) -> dict[str, Saved]:
        """Return each step's result by its name, in their order."""
        return dict(vars(self))

    def save(self, folder: Path) -> list[Path]:
        """Write NAME.npz of each step; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = {folder / f"{name}.npz": step for name, step in self.steps.items()}
        for path, step in paths.items():
            step.save(path)
        return list(paths)


def prepare(
    adjacency: csr_array,
    workers: WorkerPartition,
    shape: SwitchShape,
    widths: Sequence[int],
    *,
    plan: str = PLANS[0],
    partitioner: str = PARTITIONERS[0],
    order: str = "priority-bfs",
    theta: int = 0,
    quick: bool = False,
    seed: int = 1,
) -> Prepared:
    """Do all steps for aggregations of ``widths`` features; the same for the same ``seed``.

    ``plan`` is of PLANS, ``partitioner`` of PARTITIONERS, ``order`` of ORDERS; ``theta`` as in
    ``senders_of``; ``quick`` chooses it, and copies of aggregators, by :func:`quickest`. UserError
    for whatever is wrong with them, the graph, or its size.
    """
    shape.check_workers(workers.workers)
    if plan not in PLANS:
        raise UserError(f"plans are {', '.join(PLANS)}, not {plan}")
    cut = cut_graph(adjacency, workers)
    options: dict[str, Any] = {"partitioner": partitioner} if plan == PLANS[0] else {}
    make = destination_plan if plan == PLANS[0] else multilevel_plan
    built = make(cut, shape.aggregators, seed, **options)
    if quick:
        senders, banks = quickest(cut, built, shape)
    else:
        senders = senders_of(cut, built, theta)
        banks = placed(senders, shape)
    sequence = ordered(senders, order, seed)
    return Prepared(
        workers=workers,
        cut=cut,
        plan=built,
        senders=senders,
        order=sequence,
        banks=banks,
        tables=tables(cut, senders, sequence, banks, shape, widths),
    )
