"""Describes a training in words: lines on its data, a line per epoch, and a summary."""

from collections.abc import Iterator

from hdl.common.core_clock import CORE_MHZ
from sim.switchgnn.gcn.comparison import Comparison, Row
from sim.switchgnn.gcn.run import GcnRun
from sim.switchgnn.gcn.workload import Adder, GcnWorkload, Norm

#: How the trainings of a comparison are called in a line.
NAMES = {
    "switch": "workers",
    "golden": "one worker",
    "float": "float64",
    "plain": "without graph",
}
#: Says what of a training is compared, by what connects the workers.
EQUAL = {
    Adder.RTL: "the hardware's sums equal A X, weights those of one worker, bit for bit",
    Adder.GOLDEN: "the golden switch's sums equal A X, weights those of one worker, bit for bit",
}
ALONE = "nothing was compared with A X: no switch has added up"
#: Names in a title what connects the workers.
ADDERS = {
    Adder.RTL: ", RTL",
    Adder.GOLDEN: ", golden switch",
    Adder.EXACT: ", no network",
}


def title(run: GcnRun) -> str:
    """Describe data, network, bits and workers in a line."""
    requested, widths = (
        run.requested,
        [run.network.inputs, *(each.outputs for each in run.network.layers)],
    )
    return (
        f"{run.problem.name}, {' x '.join(map(str, widths))}, {requested.bits} bits,"
        f"{' means,' * (requested.norm is Norm.MEAN)} eta = {requested.eta:.3g};"
        f" {requested.workers} worker{'s' * (requested.workers > 1)}"
        f"{racks(requested)}"
        f"{ADDERS[requested.adder] if requested.workers > 1 else ''}"
    )


def racks(requested: GcnWorkload) -> str:
    """Say in a title how many racks and spines there are, if there are several racks."""
    if requested.racks == 1:
        return ""
    return f" in {requested.racks} racks, {requested.spines} spine{'s' * (requested.spines > 1)}"


def about(run: GcnRun) -> Iterator[str]:
    """Yield lines that describe the data."""
    problem = run.problem
    kind = "directed edges" if problem.directed else "edges, each in both directions"
    yield (
        f"{problem.name}: {problem.vertices:,} vertices, {problem.edges:,} {kind};"
        f" {problem.features.shape[1]} features, {problem.classes} classes"
    )
    if problem.directed:
        lone = (problem.adjacency != problem.adjacency.T).nnz // 2
        present = f"as an undirected graph it has {problem.edges + lone:,}"
        yield f"{lone:,} edges have no way back, nothing is learnt along it; {present} edges"
    yield f"{problem.train.sum():,} vertices are trained on, {problem.test.sum():,} tested on"
    if run.partition is not None:
        yield (
            f"{run.requested.workers} workers{racks(run.requested)}: {run.cut.nnz:,} edges between"
            " them,"
            f" {run.cut_vertices:,} vertices at their ends"
        )


def header() -> str:
    """Return the titles above the lines of the epochs, of 80 columns."""
    workers, alone, *others = (f"{name:14}" for name in NAMES.values())
    columns = "  ".join(others)
    about = "loss and accuracy at the test vertices; =: bit for bit"
    return f"       {about}\nepoch  {workers}    {alone}  {columns}  cycles"


def line(row: Row) -> str:
    """Return the line of one epoch."""
    workers, alone, *others = (
        f"{row.qualities[name].test_loss:7.4f} {row.qualities[name].test_accuracy:6.1%}"
        for name in NAMES
    )
    equal = " = " if row.bit_exact else " !="
    cycles = f"  {row.counters['cycles']:6,}" if row.counters["cycles"] else ""
    return f"{row.epoch:5}  {workers} {equal}{alone}  {'  '.join(others)}{cycles}"


def summary(comparison: Comparison) -> Iterator[str]:
    """Yield lines on how good the weights are, and on what was sent."""
    row, total = comparison.rows[-1], comparison.total
    for kind, name in (("training", "accuracy"), ("test", "test_accuracy")):
        result = [f"{text} {getattr(row.qualities[n], name):.2%}" for n, text in NAMES.items()]
        yield f"{kind} accuracy: {', '.join(result)}"
    if total["frames"]:
        yield (
            f"{total['frames']:,} frames of {total['bytes']:,} bytes,"
            f" {total['bytes'] / total['planned_bytes'] - 1:.1%} beyond features and sums;"
            f" {total['lost']:,} lost, {total['repeats']:,} sent again"
        )
        yield (
            f"{total['turns']:,} turns, {total['rows']:,} rows, {total['additions']:,} additions"
        )
    if total["marks"]:
        yield (
            f"{total['marks']:,} frames reported congestion, and workers halved their rate"
            f" {total['halvings']:,} times"
        )
    if total["cycles"]:
        done = sum(each.aggregations for each in comparison.switch.aggregators)
        each = total["cycles"] / done
        yield (
            f"{done:,} aggregations took {total['cycles']:,} cycles of the hardware,"
            f" {each:,.0f} each: {each / CORE_MHZ:.2f} us at {CORE_MHZ:g} MHz"
        )
