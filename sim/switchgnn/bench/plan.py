"""Measures plans of full-size graphs: how good they are, and how long they take."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from sim.bench.limits import CPU, Limit, Row, cpu_seconds
from sim.switchgnn.evaluation.execution import executed
from sim.switchgnn.evaluation.frames import BEAT, LINK, FrameSizes, traffic_of
from sim.switchgnn.golden.aggregation import aggregate
from sim.switchgnn.graphs.graph import load_graph
from sim.switchgnn.planning.banks import least_rows, placed, rows_of
from sim.switchgnn.planning.cut import CutGraph, cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.multilevel import multilevel_plan
from sim.switchgnn.planning.plan import aggregators_in
from sim.switchgnn.planning.preparation import PLANS, Prepared, prepare
from sim.switchgnn.planning.quickest import quickest
from sim.switchgnn.planning.senders import senders_of
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import metis_workers

FAMILIES = ("reddit", "yelp", "products")
FEATURES, LANES = 602, 32  #: features of a vertex of Reddit; lanes of an aggregator of 128 bytes
SHARES = (0.02, 0.1, 0.2)  #: shares of the memory that all features of all vertices take
FEW, MANY = 8, 128  #: workers
SECONDS = 60  #: CPU time that a plan of a million edges may take
MILLION = "reddit:scale=1.2"  #: about a million edges between 128 workers
#: graphs whose rows are compared with ports; the first one is as dense as Reddit itself
DENSE = ("reddit:degree=489", "reddit:scale=0.5", "yelp", "products")
LARGE = SwitchShape(ports=MANY, banks=8, depth=1024, lanes=128)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure the plans of families at 8 and 128 workers, then that of a million edges."""
    built: list[Row] = []
    for family in FAMILIES:
        progress(family)
        adjacency = load_graph(family).adjacency
        few, many = (
            cut_graph(adjacency, metis_workers(adjacency, workers)) for workers in (FEW, MANY)
        )
        built += cut_rows(family, adjacency, many)
        built += [bytes_row(family, cut, share) for cut in (few, many) for share in SHARES]
    progress("a million edges")
    return [*built, *million_rows()]


def cut_rows(family: str, adjacency: csr_array, cut: CutGraph) -> list[Row]:
    """Return the figures that characterise a family's cut."""
    count = adjacency.indptr.size - 1
    return [
        Row(what=f"{family}: mean degree", value=adjacency.nnz / count),
        Row(what=f"{family}: boundary, {MANY} workers", value=cut.n / count, note="of all"),
        Row(what=f"{family}: copies, {MANY} workers", value=cut.copies.size / cut.n),
        Row(what=f"{family}: edges a boundary vertex", value=cut.edges / cut.n),
    ]


def bytes_row(family: str, cut: CutGraph, share: float) -> Row:
    """Compare the bytes of destinations in slices with the paper's plan for the same memory."""
    memory = 4 * FEATURES * cut.n * share
    plans = (
        destination_plan(cut, min(cut.n, aggregators_in(memory, LANES))),
        multilevel_plan(cut, aggregators_in(memory, FEATURES)),
    )
    sizes = FrameSizes.of(LANES)
    own, paper = (traffic_of(senders_of(cut, plan), cut.workers).bytes(sizes) for plan in plans)
    return Row(
        what=f"{family}: bytes, {cut.workers} workers, memory {share:g}",
        value=own / paper,
        limit=Limit(1),
        note="of the multi-level plan's",
    )


def million_rows() -> Iterator[Row]:
    """Measure all steps from a graph to its tables, and compare the tables' sums with A X."""
    adjacency = load_graph(MILLION).adjacency
    for plan in PLANS:
        begin = cpu_seconds()
        prepared = prepare(adjacency, metis_workers(adjacency, MANY), LARGE, [4], plan=plan)
        seconds = cpu_seconds() - begin
        edges = prepared.cut.edges
        yield Row(
            what=f"{plan} plan of {edges:,} edges",
            value=seconds * 1e6 / edges,
            unit=CPU,
            limit=Limit(SECONDS),
            note=f"for a million; {prepared.plan.blocks} blocks, METIS to tables",
        )
        yield Row(
            what=f"{plan} plan: sums that are not A X",
            value=wrong_sums(adjacency, prepared),
            limit=Limit(0),
        )


def wrong_sums(adjacency: csr_array, prepared: Prepared) -> int:
    """Count the sums of the executed tables that differ from A X."""
    shape = adjacency.indptr.size - 1, 4
    drawn = np.random.default_rng(1).integers(-(1 << 15), 1 << 15, shape)
    features = drawn.astype(np.int16)
    result = executed(prepared.tables, adjacency, prepared.workers, features)
    return int((result != aggregate(adjacency, features)).sum())


def list_rows(
    progress: Callable[[str], None],
    graphs: Sequence[str] = DENSE,
    workers: Sequence[int] = (8, 16, 32),
) -> list[Row]:
    """Compare rows of lists with their floors and the busiest port, in the full switch's banks.

    The floor is the additions of the plan without partial sums, a bank's one a cycle.
    """
    result = []
    for graph, count in product(graphs, workers):
        progress(f"{graph}, {count} workers")
        adjacency = load_graph(graph).adjacency
        shape = SwitchShape(ports=count, banks=8, depth=4096, lanes=128)
        cut = cut_graph(adjacency, metis_workers(adjacency, count))
        plan = destination_plan(cut, shape.aggregators)
        plain = senders_of(cut, plan)
        plans = {"plain": (plain, placed(plain, shape)), "quick": quickest(cut, plan, shape)}
        for name, (senders, banks) in plans.items():
            rows, least = int(rows_of(senders, banks).sum()), least_rows(senders, shape.banks)
            port = traffic_of(senders, count).busiest(FrameSizes.of(128)) / BEAT / LINK
            values = {"floor": cut.edges / shape.banks, "least": least, "port": port}
            note = f"{rows:,} rows, {senders.partial.sum():,} partial sums, least of one feature a"
            note += f" row {least:,}, floor {values['floor']:,.0f}, port {port:,.0f}"
            limits = {"least": Limit(1.1)} if name == "quick" else {}
            for of, value in values.items():
                what = f"{graph}, {count} workers, {name}: rows / {of}"
                result.append(Row(what=what, value=rows / value, limit=limits.get(of), note=note))
    return result
