"""``ingather train``."""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from gen.catalogue import find_design
from gen.errors import UserError
from gen.folder import MADE_BY, MANIFEST, check_target, written_whole
from gen.settings import make_params, parse_settings
from sim.golden.p4sgd import Loss

DESIGN = "p4sgd-worker"


def train(
    data: Annotated[
        str, typer.Option(help="digits, breast-cancer, or a LIBSVM (.gz too) or .npz file.")
    ] = "digits",
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for results, picture and weights.")
    ] = Path("build/train"),
    preset: Annotated[str, typer.Option(help="Hardware: tiny, small or u280.")] = "small",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the hardware."),
    ] = None,
    engines: Annotated[int | None, typer.Option(help="Engines of the hardware.")] = None,
    loss: Annotated[Loss, typer.Option(help="What to minimise.")] = Loss.LOGISTIC,
    positive: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Class against the rest, or a threshold such as >=5."),
    ] = None,
    bias: Annotated[bool, typer.Option("--bias", help="Add a constant feature.")] = False,
    bits: Annotated[int, typer.Option(help="Precision of a feature.")] = 4,
    stored_bits: Annotated[
        int | None, typer.Option(help="Precision in memory, if more than is read.")
    ] = None,
    global_scale: Annotated[
        bool, typer.Option("--global-scale", help="One scale for all features.")
    ] = False,
    batch: Annotated[int, typer.Option(help="Samples of a mini-batch.")] = 64,
    eta: Annotated[float, typer.Option(help="Learning rate.")] = 1.0,
    l2_shift: Annotated[
        int, typer.Option(help="Weights lose 2^-N of themselves per mini-batch; needs l2=true.")
    ] = 0,
    epochs: Annotated[int, typer.Option(help="Times through the data.")] = 30,
    memory_latency: Annotated[
        int, typer.Option(help="Cycles of the simulated memory, up to 1023.")
    ] = 128,
    memory_stall: Annotated[
        int, typer.Option(help="Chance in 256 that the memory pauses, every cycle.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the memory's pauses.")] = 1,
) -> None:
    """Train on the RTL under Verilator, beside the golden model and float64 SGD."""
    check_range("memory-latency", memory_latency, 0, 1023)
    check_range("memory-stall", memory_stall, 0, 250)
    check_range("seed", seed, 0, (1 << 31) - 1)
    design = find_design(DESIGN)
    changes: dict[str, Any] = dict(parse_settings(settings or []))
    if engines is not None:
        changes["engines"] = engines
    params = make_params(design.params_class, design.settings_of(preset), changes)
    check_target(output)

    from sim.training import Options, TrainingRun
    from sim.training_job import MemorySettings
    from sim.workloads.datasets import load

    console = Console(highlight=False)
    try:
        with console.status(f"reading {data}"):
            samples = load(data, loss=loss, positive=positive, bias=bias)
            options = Options(
                loss=loss,
                bits=bits,
                stored_bits=stored_bits,
                batch=batch,
                eta=eta,
                epochs=epochs,
                l2_shift=l2_shift,
                per_feature=not global_scale,
            )
            run = TrainingRun(samples, params, options)
    except ValueError as error:
        raise UserError(str(error)) from error
    memory = MemorySettings(
        latency=memory_latency, ar_stall=memory_stall, r_stall=memory_stall, seed=seed
    )
    with written_whole(output) as folder:
        exact = execute(console, run, memory, preset, folder)
    console.print(f"wrote {output}: result.json, training.png, weights.npz")
    if not exact:
        console.print("the RTL's weights differ from the golden model's", style="red")
        raise typer.Exit(1)


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Raise UserError unless ``low <= value <= high``."""
    if not low <= value <= high:
        raise UserError(f"--{name} must be from {low} to {high}: {value}")


def execute(console: Console, run: Any, memory: Any, preset: str, folder: Path) -> bool:
    """Build, train, print a line per epoch, write the results; whether all was bit-exact."""
    from sim.train import build_worker, simulate_training
    from sim.training_report import CLOCK_MHZ, Comparison, plot

    options, engine = run.options, run.params.engine
    hardware = f"{run.params.engines} x {engine.banks} x {engine.lanes}"
    title = (
        f"{run.data.name}, {options.loss.value}, s = {options.bits}, B = {options.batch},"
        f" eta = {options.eta:g}; {hardware} ({preset})"
    )
    console.print(
        f"{run.data.name}: {run.samples} samples, {run.features} features, {run.chunks} chunks of"
        f" {engine.lanes} lanes in each of {run.params.engines} engines"
    )
    with console.status("building the simulator (once for this hardware; a minute for u280)"):
        simulator = build_worker(run.params)
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

        simulate_training(run, simulator, Path(scratch), show, memory=memory, seed=memory.seed)
    result = comparison.result() | {"preset": preset, "memory": asdict(memory)}
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    comparison.save_weights(folder / "weights.npz")
    plot(comparison.rows, title, folder / "training.png")
    files = ["result.json", "training.png", "weights.npz"]
    manifest = {"made_by": MADE_BY, "command": "train", "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    console.print(summary(comparison, CLOCK_MHZ))
    return comparison.bit_exact


def header() -> str:
    """Titles of the lines."""
    return (
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


def summary(comparison: Any, clock_mhz: int) -> str:
    """Where the cycles went."""
    total: dict[str, int] = {}
    for row in comparison.rows:
        for name, count in row.counters.items():
            total[name] = total.get(name, 0) + count
    engines = comparison.training.params.engines
    waits = ", ".join(
        f"{name} {total[f'{name}_stalls'] / engines / total['cycles']:.1%}"
        for name in ("memory", "network", "dependency", "fifo")
    )
    saturations = sum(count for name, count in total.items() if name.endswith("saturations"))
    result = comparison.result()
    return (
        f"{total['cycles']:,} cycles, {total['cycles'] / clock_mhz / 1e3:.3f} ms at"
        f" {clock_mhz} MHz; words {total['words'] / engines / total['cycles']:.1%} of them, waiting"
        f" for: {waits}; {saturations} saturations\n"
        f"simulated at {result['simulated_cycles_per_second']:,.0f} cycles/s; weights"
        f" {'equal' if comparison.bit_exact else 'DIFFER from'} the golden model's bit for bit"
    )
