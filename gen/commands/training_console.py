"""A training run on the console: progress, a line per epoch, a summary, the files."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from gen.errors import UserError
from gen.output.folder import MADE_BY, MANIFEST

WORTH_CENTERING = 100  #: times as large a learning rate, from which centring is worth a hint
SOURCES = {"rtl": "RTL", "golden": "golden model", "float": "float64"}


def execute(
    console: Console, run: Any, memory: Any, network: Any, preset: str, folder: Path
) -> bool:
    """Build, train, print a line per epoch, write the results; whether all was bit-exact."""
    from sim.p4sgd.train import TrainingStopped, build_cluster, build_worker, simulate_training
    from sim.p4sgd.training_report import CLOCK_MHZ, Comparison, plot

    options, engine = run.options, run.params.engine
    hardware = f"{run.workers} x " * (run.workers > 1)
    hardware += f"{run.params.engines} x {engine.banks} x {engine.lanes}"
    title = (
        f"{run.data.name}, {options.loss.value}, s = {options.bits}, B = {options.batch},"
        f" eta = {run.eta:.3g}; {hardware} ({preset})"
    )
    for text in about(run):
        console.print(text)
    with console.status("building the simulator (once for this hardware; minutes for large ones)"):
        if network is None:
            simulator = build_worker(run.params)
        else:
            simulator = build_cluster(run.params, run.workers)
    comparison = Comparison(run)
    with (
        tempfile.TemporaryDirectory() as scratch,
        Progress(console=console, transient=True) as progress,
    ):
        task = progress.add_task("training on the RTL", total=options.epochs)
        progress.console.print(header())

        def show(epoch: Any) -> None:
            progress.console.print(line(comparison.add(epoch)))
            progress.advance(task)

        try:
            simulate_training(
                run,
                simulator,
                Path(scratch),
                show,
                memory=memory,
                network=network,
                seed=memory.seed,
            )
        except TrainingStopped as stopped:
            raise UserError(str(stopped)) from stopped
    result = comparison.result() | {"preset": preset, "memory": asdict(memory)}
    result["network"] = None if network is None else asdict(network)
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    comparison.save_weights(folder / "weights.npz")
    plot(comparison.rows, title, folder / "training.png")
    files = ["result.json", "training.png", "weights.npz"]
    manifest = {"made_by": MADE_BY, "command": "train", "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    console.print(summary(comparison, CLOCK_MHZ))
    for text in comparison.warnings:
        console.print(f"warning: {text}", style="yellow")
    return comparison.bit_exact


def about(run: Any) -> Iterator[str]:
    """Lines on the data and on how they are trained on."""
    from sim.workloads.step_size import CURVATURE

    data, engine = run.data, run.params.engine
    yield (
        f"{data.name}: {run.samples} samples {data.order}, {run.features} features,"
        f" {run.chunks} chunks of {engine.lanes} lanes in each of {run.params.engines} engines"
        + f" of each of {run.workers} workers"
        * (run.workers > 1)
    )
    if data.test is not None:
        held_out = " held out" if data.test.name == data.name else f" of {data.test.name}"
        yield f"test: {len(data.test.labels)} samples{held_out}"
    if run.options.eta is None:
        yield (
            f"eta = {run.eta:.3g} from the data: 1 / ({CURVATURE[run.options.loss]:g} x"
            f" {run.smoothness.expected:.3g}), the loss's curvature x a mini-batch's smoothness"
        )
    if not run.options.center and (gain := run.centering_gain) >= WORTH_CENTERING:
        yield (
            f"these features are mostly their means: --center takes them off, and a learning rate"
            f" {gain:,.0f} times as large suits the rest"
        )
    if run.options.center:
        yield (
            "centred: the mean of every feature is off it, a constant one is added, codes are"
            " signed"
        )


def header() -> str:
    """Titles of the lines."""
    return (
        f"{'':>5}  loss and accuracy on the training samples\n"
        f"{'epoch':>5}  {'RTL':^16}  {'golden':^16}  {'float64':^16}  {'cycles':>9}\n"
        f"{'':>5}  {'loss':>8} {'acc.':>7}  {'loss':>8} {'acc.':>7}  {'loss':>8} {'acc.':>7}"
    )


def line(row: Any) -> str:
    """An epoch."""

    def pair(loss: float, accuracy: float | None) -> str:
        return f"{loss:8.5f} {'' if accuracy is None else f'{accuracy:7.2%}':>7}"

    return (
        f"{row.epoch:5}  {pair(row.rtl_loss, row.rtl_accuracy)}"
        f"  {pair(row.golden_loss, row.golden_accuracy)}"
        f"  {pair(row.float_loss, row.float_accuracy)}  {row.counters['cycles']:9,}"
        f"  {'= golden' if row.bit_exact else '!= golden'}"
    )


def results(comparison: Any) -> str:
    """What the training ends at, on the training and on the test samples, a line each."""
    row, test = comparison.rows[-1], comparison.training.data.test
    what = "loss" if row.rtl_accuracy is None else "accuracy"
    shown = "{:.5f}" if row.rtl_accuracy is None else "{:.2%}"
    kinds = {"training": what} | ({"test": f"test_{what}"} if test is not None else {})
    text = ""
    for samples, name in kinds.items():
        figures = [
            f"{source} {shown.format(getattr(row, f'{field}_{name}'))}"
            for field, source in SOURCES.items()
        ]
        text += f"{samples} {what}: {', '.join(figures)}\n"
    return text


def summary(comparison: Any, clock_mhz: int) -> str:
    """How good the weights are, and where the cycles went."""
    total = added(row.counters for row in comparison.rows)
    engines = comparison.training.params.engines * comparison.training.workers
    waits = ", ".join(
        f"{name} {total[f'{name}_stalls'] / engines / total['cycles']:.1%}"
        for name in ("memory", "network", "dependency", "fifo")
    )
    result = comparison.result()
    return (
        f"{results(comparison)}"
        f"{total['cycles']:,} cycles, {total['cycles'] / clock_mhz / 1e3:.3f} ms at"
        f" {clock_mhz} MHz; words {total['words'] / engines / total['cycles']:.1%} of them, waiting"
        f" for: {waits}; {comparison.saturations:,} saturations\n"
        f"{packets(comparison, clock_mhz)}"
        f"simulated at {result['simulated_cycles_per_second']:,.0f} cycles/s; weights"
        f" {'equal' if comparison.bit_exact else 'DIFFER from'} the golden model's bit for bit"
    )


def packets(comparison: Any, clock_mhz: int) -> str:
    """A line on the network, if there is one."""
    total = added(row.network for row in comparison.rows)
    if not total["sent"]:
        return ""
    counters = added(row.counters for row in comparison.rows)
    cycles = counters["allreduce_cycles"] / counters["full_packets"]
    faults = ", ".join(
        f"{total[name]:,} {name}" for name in ("dropped", "duplicated", "reordered", "corrupted")
    )
    return (
        f"AllReduce {cycles:,.0f} cycles on average, {cycles / clock_mhz:.2f} us; {total['sent']:,}"
        f" packets on the links, {faults}; {counters['retransmissions']:,} sent again by workers\n"
    )


def added(rows: Iterable[Mapping[str, int]]) -> Counter[str]:
    """The counters of all rows together."""
    return sum(map(Counter, rows), start=Counter())
