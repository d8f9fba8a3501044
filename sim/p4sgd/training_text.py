"""Describes a training run in words: lines on its data, a line per epoch, and a summary."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hdl.common.core_clock import CORE_MHZ
from sim.golden.arithmetic import LARGEST_EXPONENT
from sim.golden.choices import EtaSchedule
from sim.p4sgd.reference import MISSING, is_there, shown_loss
from sim.p4sgd.training import TrainingRun, machine_of
from sim.p4sgd.training_report import Comparison, Row
from sim.p4sgd.training_workload import ZEROS
from sim.surroundings.hbm_refresh import INTERVAL_NS
from sim.workloads.step_size import CURVATURE

UNEQUAL = 2 / 3  #: share of the larger class from which on it is worth a line
WORTH_CENTERING = 100  #: gain in learning rate from which on centring is worth a hint
ROUNDED = 2.0**-16  #: largest share by which rounding to a whole mantissa changes a step
EQUAL = "weights and saturations equal the golden model's bit for bit"
SOURCES = {"rtl": "RTL", "golden": "golden model", "float": "float64"}


def title(run: TrainingRun) -> str:
    """Return the run in a line: data, precision, batch, learning rate, hardware."""
    requested, engine = run.requested, run.params.engine
    hardware = f"{run.workers} x " * (run.workers > 1)
    hardware += f"{run.params.engines} x {engine.banks} x {engine.lanes}"
    hardware += f", {run.classes} classes in one pass" * (run.classes > 1)
    return (
        f"{run.data.name}, {requested.loss.value}, s = {requested.bits}, B = {requested.batch},"
        f" eta = {run.eta:.3g}; {hardware}"
    )


def about(run: TrainingRun) -> Iterator[str]:
    """Yield lines on the data and on how they are trained on."""
    data, engine = run.data, run.params.engine
    yield (
        f"{data.name}: {run.samples} samples {data.order}, {run.features} features,"
        f" {run.chunks} chunks of {engine.lanes} lanes in each of {run.params.engines} engines"
        + f" of each of {run.workers} workers"
        * (run.workers > 1)
    )
    if refresh := run.requested.refresh(run.params):
        yield (
            f"the memory pauses for {refresh.pause_ns} ns every {INTERVAL_NS / 1000:g} us, as HBM"
            " does to refresh its banks: --memory-refresh 0 is without"
        )
    if run.classes > 1:
        yield classes(run)
    if engine.max_tile:
        yield tiled(run)
    if data.test is not None:
        held_out = " held out" if data.test.name == data.name else f" of {data.test.name}"
        yield f"test: {len(data.test.labels)} samples{held_out}"
    if run.requested.eta is None and run.smoothness.expected:
        yield (
            f"eta = {run.eta:.3g} from the data: 1 / ({CURVATURE[run.requested.loss]:g} x"
            f" {run.smoothness.expected:.3g}), the loss's curvature x a mini-batch's smoothness"
        )
    if abs((used := run.training.step.value * run.requested.batch) / run.eta - 1) > ROUNDED:
        yield (
            f"eta = {run.eta:.3g} is taken as {used:.3g}: the hardware's step, eta / B, is at least"
            f" 2^-{LARGEST_EXPONENT}, and a multiple of that"
        )
    if run.l2:
        nearest = f" for the {run.requested.l2:g} requested" * bool(run.requested.l2)
        yield f"L2: lambda = {run.l2:.3g}{nearest}, 2^-{run.l2_shift} of a weight a mini-batch"
    period = run.requested.eta_period
    if run.requested.eta_schedule is EtaSchedule.INVERSE:
        yield f"eta falls: after t epochs it is divided by 1 + t / {period}"
    if run.requested.eta_schedule is EtaSchedule.RESTARTS:
        yield f"eta falls along a cosine, and starts again after each {period} epochs"
    if not run.requested.center and (gain := run.centering_gain) >= WORTH_CENTERING:
        yield (
            f"these features are mostly their means: --center takes them off, and a learning rate"
            f" {gain:,.0f} times as large suits the rest"
        )
    if run.requested.center:
        yield (
            "centred: the mean of every feature is off it, a constant one is added, codes are"
            " signed"
        )


def classes(run: TrainingRun) -> str:
    """Return a line on the classes that are trained in one pass, and what that costs."""
    machine, batch = machine_of(run.params, run.requested), run.requested.batch
    alone = replace(machine, classes=1, engines=run.params.engines)
    cycles = machine.pipelined(run.features, batch, 0)
    passes = run.classes * alone.pipelined(run.features, batch, 0)
    idle = run.classes - len(run.data.label_values)
    return (
        f"classes: {run.data.classes or 'any'}, in one pass over the data with"
        f" {run.params.sets} of {run.params.engines} engines for each"
        + f" ({idle} of {run.classes} for nothing)"
        * (idle > 0)
        + f"; a mini-batch takes {cycles / passes:.2f} times the cycles of {run.classes} passes by"
        f" all engines by the formula, and features are read once instead of {run.classes} times;"
        " loss is the mean of all classes', accuracy that of the largest activation"
    )


def tiled(run: TrainingRun) -> str:
    """Return a line on what a model in memory costs, by the formulas."""
    machine, batch = machine_of(run.params, run.requested), run.requested.batch
    cycles = machine.tiled(run.features, batch, 0, run.tile)
    pace = max(machine.chunk_pace(run.tile), machine.lanes // 4)
    weights = 12 * machine.lanes / pace  # bytes: a chunk read for both stages, and written
    words = machine.banks * machine.lanes / 8 * run.tile * run.requested.bits / pace
    return (
        f"the model is in memory: tiles of {run.tile} micro-batches share a read of the weights,"
        f" a mini-batch takes {cycles / machine.pipelined(run.features, batch, 0):.2f} times the"
        f" cycles of a model in the engines by the formula, and an engine moves"
        f" {2 * words + weights:.0f} bytes a cycle, {weights:.0f} of them weights"
    )


def header() -> str:
    """Return the titles above the lines of the epochs."""
    return (
        f"{'':>5}  loss and accuracy on the training samples\n"
        f"{'epoch':>5}  {'RTL':^16}  {'golden':^16}  {'float64':^16}  {'cycles':>9}\n"
        f"{'':>5}  {'loss':>8} {'acc.':>7}  {'loss':>8} {'acc.':>7}  {'loss':>8} {'acc.':>7}"
    )


def line(row: Row) -> str:
    """Return the line of an epoch."""

    def pair(loss: float, accuracy: float | None) -> str:
        return f"{shown_loss(loss):>8} {'' if accuracy is None else f'{accuracy:7.2%}':>7}"

    return (
        f"{row.epoch:5}  {pair(row.rtl_loss, row.rtl_accuracy)}"
        f"  {pair(row.golden_loss, row.golden_accuracy)}"
        f"  {pair(row.float_loss, row.float_accuracy)}  {row.counters['cycles']:9,}"
        f"  {'= golden' if row.bit_exact else '!= golden'}"
    )


def results(comparison: Comparison) -> Iterator[str]:
    """Yield what the training ends at, on the training and on the test samples, a line each."""
    row, test = comparison.kept_row, comparison.training.data.test
    what = "loss" if row.rtl_accuracy is None else "accuracy"
    shown = shown_loss if row.rtl_accuracy is None else "{:.2%}".format
    kinds = {"training": what} | ({"test": f"test_{what}"} if test is not None else {})
    for samples, name in kinds.items():
        figures = [
            f"{source} {shown(getattr(row, f'{field}_{name}'))}"
            for field, source in SOURCES.items()
        ]
        yield f"{samples} {what}: {', '.join(figures)}"


def kept(comparison: Comparison) -> Iterator[str]:
    """Yield a line on the epoch that is kept and on an early stop, if there may be one."""
    requested, count = comparison.training.requested, len(comparison.rows)
    if not requested.patience:
        return
    stopped = comparison.enough() and count < requested.epochs
    yield (
        f"the weights of epoch {comparison.kept_row.epoch} are kept, whose test loss is the lowest"
        + f"; training stopped early, after epoch {count} of {requested.epochs}" * stopped
    )


def references(comparison: Comparison) -> Iterator[str]:
    """Yield lines on what the accuracy is to be compared with."""
    larger, requested = comparison.larger_class, comparison.training.requested
    if larger and (share := larger["accuracy"]) is not None and share > UNEQUAL:
        test, guess = larger["test_accuracy"], "positive" if larger["positive"] else "negative"
        yield (
            f"{share:.2%} of the training samples are {guess}: always guessing so has training"
            f" accuracy {share:.2%}" + ("" if test is None else f", test accuracy {test:.2%}")
        )
    if comparison.reference:
        yield comparison.reference.sentence
    elif requested.reference and requested.data != ZEROS and not is_there():
        yield MISSING


def summary(comparison: Comparison, clock_mhz: float = CORE_MHZ) -> Iterator[str]:
    """Yield lines on how good the weights are, and where the cycles went."""
    total = added(row.counters for row in comparison.rows)
    engines = comparison.training.params.engines * comparison.training.workers
    waits = ", ".join(
        f"{name} {total[f'{name}_stalls'] / engines / total['cycles']:.1%}"
        for name in ("memory", "network", "dependency", "fifo")
    )
    yield from kept(comparison)
    yield from results(comparison)
    yield from references(comparison)
    yield (
        f"{total['cycles']:,} cycles, {total['cycles'] / clock_mhz / 1e3:.3f} ms at"
        f" {clock_mhz:g} MHz; words {total['words'] / engines / total['cycles']:.1%} of them,"
        f" waiting for: {waits}; {comparison.saturations:,} saturations"
    )
    yield from packets(comparison, clock_mhz)
    yield f"simulated at {comparison.simulated_per_second:,.0f} cycles per second of CPU"


def packets(comparison: Comparison, clock_mhz: float) -> Iterator[str]:
    """Yield a line on the network, if there is one."""
    total = added(row.network for row in comparison.rows)
    if not total["sent"]:
        return
    counters = added(row.counters for row in comparison.rows)
    cycles = counters["allreduce_cycles"] / counters["full_packets"]
    faults = ", ".join(
        f"{total[name]:,} {name}" for name in ("dropped", "duplicated", "reordered", "corrupted")
    )
    yield (
        f"AllReduce {cycles:,.0f} cycles on average, {cycles / clock_mhz:.2f} us; {total['sent']:,}"
        f" packets on the links, {faults}; {counters['retransmissions']:,} sent again by workers"
    )


def added(rows: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return the counters of all rows together."""
    return sum(map(Counter, rows), start=Counter())
