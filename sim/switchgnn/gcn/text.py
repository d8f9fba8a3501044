"""A training in words: lines on its data, a line per epoch, and a summary."""

from collections.abc import Iterator

from sim.switchgnn.gcn.comparison import Comparison, Row
from sim.switchgnn.gcn.run import GcnRun

#: How the trainings of a comparison are called in a line.
NAMES = {
    "switch": "workers",
    "golden": "one worker",
    "float": "float64",
    "plain": "without the graph",
}


def title(run: GcnRun) -> str:
    """Data, network, bits, workers."""
    asked, widths = run.asked, [run.network.inputs, *(each.outputs for each in run.network.layers)]
    return (
        f"{run.problem.name}, {' x '.join(map(str, widths))}, {asked.bits} bits, eta ="
        f" {asked.eta:.3g}; {asked.workers} worker{'s' * (asked.workers > 1)}"
    )


def about(run: GcnRun) -> Iterator[str]:
    """Lines on the data."""
    problem = run.problem
    kind = "directed edges" if problem.directed else "edges, each in both directions"
    yield (
        f"{problem.name}: {problem.vertices:,} vertices, {problem.edges:,} {kind};"
        f" {problem.features.shape[1]} features, {problem.classes} classes"
    )
    yield f"{problem.train.sum():,} vertices are trained on, {problem.test.sum():,} tested on"
    if run.partition is not None:
        yield (
            f"{run.asked.workers} workers: {run.cut.nnz:,} edges between them,"
            f" {run.cut_vertices:,} vertices at their ends"
        )


def header() -> str:
    """The titles above the lines of the epochs."""
    columns = "  ".join(f"{name:^16}" for name in (*NAMES.values(),))
    return f"       test loss and accuracy\nepoch  {columns}"


def line(row: Row) -> str:
    """The line of an epoch."""
    columns = "  ".join(
        f"{row.qualities[name].test_loss:8.5f} {row.qualities[name].test_accuracy:7.2%}"
        for name in NAMES
    )
    return f"{row.epoch:5}  {columns}  {'= one worker' if row.bit_exact else '!= one worker'}"


def summary(comparison: Comparison) -> Iterator[str]:
    """How good the weights are, and what was sent."""
    row, total = comparison.rows[-1], comparison.total
    for kind, name in (("training", "accuracy"), ("test", "test_accuracy")):
        found = [f"{text} {getattr(row.qualities[n], name):.2%}" for n, text in NAMES.items()]
        yield f"{kind} accuracy: {', '.join(found)}"
    if total["frames"]:
        yield (
            f"{total['frames']:,} frames of {total['bytes']:,} bytes, {total['repeats']:,} sent"
            f" again; {total['turns']:,} turns, {total['rows']:,} rows,"
            f" {total['additions']:,} additions"
        )
    if total["cycles"]:
        yield f"{total['cycles']:,} cycles of aggregations in hardware"
    yield comparison.difference or "sums equal A X, weights those of one worker, bit for bit"
