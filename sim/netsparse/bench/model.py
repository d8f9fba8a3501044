"""Measures the model of racks of nodes: how fast it is, and how far from the RTL."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from gen.base.settings import make_params
from hdl.netsparse.params import SnicParams
from sim.bench.limits import CPU, Limit, Row, cpu_seconds
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.model.accuracy import BOUNDS, Compared, compared
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_session import SpmmSession
from sim.netsparse.spmm_workload import SpmmWorkload

TINY = {"units": 2, "nodes": 6, "pending_entries": 8, "lsq_entries": 8, "lsq_reserved": 2}
SMALL = SpmmWorkload(  # that RTL holds
    matrix="uk:nodes=6,rows=1800",
    nodes=6,
    racks=3,
    spines=2,
    switch="tiny:output_beats=1024",
    property_bytes=32,
)
LARGE = SpmmWorkload(
    model=True, matrix="queen", nodes=128, racks=8, spines=16, switch="paper", batch=32768
)
MAX_SECONDS = Limit(120)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Compare racks in RTL with the model, then run a cluster that only the model can hold."""
    progress("simulator of three racks")
    params = make_params(SnicParams, TINY, {})
    simulator = SpmmSession.build(SpmmSession.hardware(params, SMALL))
    run = SpmmRun(matrix_for(SMALL.matrix, SMALL.nodes, SMALL.seed), params, SMALL)
    progress("three racks in RTL")
    with tempfile.TemporaryDirectory() as folder:
        rtl = run.simulate(SMALL.cluster(params), simulator, Path(folder)).result
    model, errors = compared(run.gather, SMALL.cluster(params), rtl)
    progress("128 nodes on the model")
    return [
        *map(error_row, errors),
        speed_row("3 racks x 2 nodes, RTL", rtl),
        speed_row("3 racks x 2 nodes, model", model),
        Row(what="model, times the RTL", value=rtl.seconds / model.seconds, unit="x"),
        *large_rows(),
    ]


def error_row(item: Compared) -> Row:
    """Return how far a figure of the model is from the RTL's."""
    return Row(
        what=f"error: {item.name}",
        value=abs(item.error),
        limit=Limit(BOUNDS[item.name]),
        note=f"a share of the RTL's {item.rtl:,}",
    )


def speed_row(what: str, result: GatherResult) -> Row:
    """Return how many cycles a second a run simulated."""
    return Row(what=what, value=result.cycles / result.seconds, unit="cycles/s")


def large_rows() -> list[Row]:
    """Run the paper's cluster: 8 racks of 16 nodes with 32 units each, 9.7 million nonzeros."""
    params = SnicParams()
    run = SpmmRun(matrix_for(LARGE.matrix, LARGE.nodes, LARGE.seed), params, LARGE)
    began = cpu_seconds()
    result = run.model(LARGE.cluster(params))
    seconds = cpu_seconds() - began
    prs = sum(node.totals["prs"] for node in result.nodes)
    size = f"128 nodes, {run.matrix.nnz:,} nonzeros"
    return [
        Row(what=size, value=seconds, unit=CPU, limit=MAX_SECONDS),
        Row(what=size, value=prs / seconds, unit="PRs/s", note=f"{prs:,} PRs"),
        Row(what=size, value=run.matrix.nnz / seconds, unit="idxs/s"),
    ]
