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
from sim.golden.p4sgd import Loss, Schedule

MOST_WORKERS = 16
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
    workers: Annotated[
        int, typer.Option(help="Workers that share the features; with 2 or more, and a switch.")
    ] = 1,
    schedule: Annotated[
        Schedule, typer.Option(help="Order of forward, communication and backward.")
    ] = Schedule.PIPELINED,
    link_latency: Annotated[
        int, typer.Option(help="Cycles of a link between worker and switch, one way, up to 4095.")
    ] = 100,
    drop: Annotated[float, typer.Option(help="Chance that a link drops a packet, 0..1.")] = 0.0,
    duplicate: Annotated[float, typer.Option(help="Chance that it doubles one.")] = 0.0,
    reorder: Annotated[float, typer.Option(help="Chance that it delays one out of turn.")] = 0.0,
    corrupt: Annotated[float, typer.Option(help="Chance that it flips a bit of one.")] = 0.0,
    displacement: Annotated[
        int, typer.Option(help="Most cycles by which a packet out of turn is late, up to 4095.")
    ] = 64,
    timeout: Annotated[
        int, typer.Option(help="Cycles until a packet is sent again; 0 takes what suits the links.")
    ] = 0,
    retries: Annotated[
        int, typer.Option(help="Repetitions before a worker gives up, up to 255; 0 for ever.")
    ] = 100,
    memory_latency: Annotated[
        int, typer.Option(help="Cycles of the simulated memory, up to 1023.")
    ] = 128,
    memory_stall: Annotated[
        int, typer.Option(help="Chance in 256 that the memory pauses, every cycle.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the memory's pauses and the links' faults.")] = 1,
) -> None:
    """Train on the RTL under Verilator, beside the golden model and float64 SGD."""
    check_range("memory-latency", memory_latency, 0, 1023)
    check_range("memory-stall", memory_stall, 0, 250)
    check_range("seed", seed, 0, (1 << 31) - 1)
    check_range("workers", workers, 1, MOST_WORKERS)
    for name, value in (("link-latency", link_latency), ("displacement", displacement)):
        check_range(name, value, 0, 4095)
    check_range("timeout", timeout, 0, (1 << 23) - 1)
    check_range("retries", retries, 0, 255)
    chances = {"drop": drop, "duplicate": duplicate, "reorder": reorder, "corrupt": corrupt}
    for name, chance in chances.items():
        check_range(name, chance, 0, 1)
    design = find_design(DESIGN)
    changes: dict[str, Any] = dict(parse_settings(settings or []))
    if engines is not None:
        changes["engines"] = engines
    if schedule is Schedule.DATA_PARALLEL:
        changes.setdefault("data_parallel", True)
    params = make_params(design.params_class, design.settings_of(preset), changes)
    check_target(output)

    from sim.training import Options, TrainingRun
    from sim.training_job import MemorySettings, NetworkSettings
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
                schedule=schedule,
            )
            run = TrainingRun(samples, params, options, workers)
    except ValueError as error:
        raise UserError(str(error)) from error
    memory = MemorySettings(
        latency=memory_latency, ar_stall=memory_stall, r_stall=memory_stall, seed=seed
    )
    network = None
    if workers > 1 or schedule is not Schedule.PIPELINED:
        network = NetworkSettings(
            latency=link_latency,
            **chances,
            displacement=displacement,
            seed=seed,
            timeout=timeout,
            retries=retries,
        )
    elif any(chances.values()):
        raise UserError("a single worker has no links: --workers 2 or more gives it some")
    with written_whole(output) as folder:
        exact = execute(console, run, memory, network, preset, folder)
    console.print(f"wrote {output}: result.json, training.png, weights.npz")
    if not exact:
        console.print("the RTL's weights differ from the golden model's", style="red")
        raise typer.Exit(1)


def check_range(name: str, value: float, low: int, high: int) -> None:
    """Raise UserError unless ``low <= value <= high``."""
    if not low <= value <= high:
        raise UserError(f"--{name} must be from {low} to {high}: {value}")


def execute(
    console: Console, run: Any, memory: Any, network: Any, preset: str, folder: Path
) -> bool:
    """Build, train, print a line per epoch, write the results; whether all was bit-exact."""
    from sim.train import TrainingStopped, build_cluster, build_worker, simulate_training
    from sim.training_report import CLOCK_MHZ, Comparison, plot

    options, engine = run.options, run.params.engine
    hardware = f"{run.workers} x " * (run.workers > 1)
    hardware += f"{run.params.engines} x {engine.banks} x {engine.lanes}"
    title = (
        f"{run.data.name}, {options.loss.value}, s = {options.bits}, B = {options.batch},"
        f" eta = {options.eta:g}; {hardware} ({preset})"
    )
    console.print(
        f"{run.data.name}: {run.samples} samples, {run.features} features, {run.chunks} chunks of"
        f" {engine.lanes} lanes in each of {run.params.engines} engines"
        + f" of each of {run.workers} workers"
        * (run.workers > 1)
    )
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
    engines = comparison.training.params.engines * comparison.training.workers
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
        f"{packets(comparison, clock_mhz)}"
        f"simulated at {result['simulated_cycles_per_second']:,.0f} cycles/s; weights"
        f" {'equal' if comparison.bit_exact else 'DIFFER from'} the golden model's bit for bit"
    )


def packets(comparison: Any, clock_mhz: int) -> str:
    """A line on the network, if there is one."""
    total: dict[str, int] = {}
    for row in comparison.rows:
        for name, count in row.network.items():
            total[name] = total.get(name, 0) + count
    if not total.get("sent"):
        return ""
    counters = [row.counters for row in comparison.rows]
    cycles = sum(row["allreduce_cycles"] for row in counters)
    cycles /= sum(row["full_packets"] for row in counters)
    again = sum(row["retransmissions"] for row in counters)
    faults = ", ".join(
        f"{total[name]:,} {name}" for name in ("dropped", "duplicated", "reordered", "corrupted")
    )
    return (
        f"AllReduce {cycles:,.0f} cycles on average, {cycles / clock_mhz:.2f} us; {total['sent']:,}"
        f" packets on the links, {faults}; {again:,} sent again by workers\n"
    )
