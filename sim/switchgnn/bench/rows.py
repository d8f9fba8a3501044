"""Compares what bounds a slice on the full switch's banks: rows of lists, additions, and ports."""

from collections.abc import Callable, Sequence

from sim.bench.limits import Limit, Row
from sim.switchgnn.evaluation.frames import BEAT, LINK, FrameSizes, traffic_of
from sim.switchgnn.graphs.graph import load_graph
from sim.switchgnn.planning.banks import least_rows, placed, rows_of
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.quickest import quickest
from sim.switchgnn.planning.senders import senders_of
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import metis_workers

GRAPHS = ("reddit:scale=0.5", "yelp", "products")
WORKERS = (8, 16, 32)


def rows(progress: Callable[[str], None], graphs: Sequence[str] = GRAPHS) -> list[Row]:
    """Measure the rows of plans, without and with partial sums and copies.

    The floor is the additions of the plan without partial sums, a bank's one a cycle.
    """
    result = []
    for graph in graphs:
        adjacency = load_graph(graph).adjacency
        for workers in WORKERS:
            progress(f"{graph}, {workers} workers")
            shape = SwitchShape(ports=workers, banks=8, depth=4096, lanes=128)
            cut = cut_graph(adjacency, metis_workers(adjacency, workers))
            plan = destination_plan(cut, shape.aggregators)
            plain = senders_of(cut, plan)
            floor = cut.edges / shape.banks
            plans = {"plain": (plain, placed(plain, shape)), "quick": quickest(cut, plan, shape)}
            for name, (senders, banks) in plans.items():
                count, least = int(rows_of(senders, banks).sum()), least_rows(senders, shape.banks)
                port = traffic_of(senders, workers).busiest(FrameSizes.of(128)) / BEAT / LINK
                note = f"{count:,} rows, floor {floor:,.0f}, least for a feature each {least:,},"
                note += f" port {port:,.0f}, partial sums {senders.partial.sum():,}"
                values = {"floor": floor, "least": least, "port": port}
                limits = {"least": Limit(1.1)} if name == "quick" else {}
                result += [
                    Row(
                        what=f"{graph}, {workers} workers, {name}: rows / {what}",
                        value=count / value,
                        limit=limits.get(what),
                        note=note,
                    )
                    for what, value in values.items()
                ]
    return result
