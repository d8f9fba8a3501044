"""``ingather train``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from gen.catalogue import find_design
from gen.errors import UserError
from gen.folder import check_target, written_whole
from gen.settings import make_params, parse_settings
from gen.training_console import execute
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
        int,
        typer.Option(
            min=1,
            max=MOST_WORKERS,
            help="Workers that share the features; with 2 or more, and a switch.",
        ),
    ] = 1,
    schedule: Annotated[
        Schedule, typer.Option(help="Order of forward, communication and backward.")
    ] = Schedule.PIPELINED,
    link_latency: Annotated[
        int,
        typer.Option(min=0, max=4095, help="Cycles of a link between worker and switch, one way."),
    ] = 100,
    drop: Annotated[
        float, typer.Option(min=0, max=1, help="Chance that a link drops a packet.")
    ] = 0.0,
    duplicate: Annotated[
        float, typer.Option(min=0, max=1, help="Chance that it doubles one.")
    ] = 0.0,
    reorder: Annotated[
        float, typer.Option(min=0, max=1, help="Chance that it delays one out of turn.")
    ] = 0.0,
    corrupt: Annotated[
        float, typer.Option(min=0, max=1, help="Chance that it flips a bit of one.")
    ] = 0.0,
    displacement: Annotated[
        int,
        typer.Option(min=0, max=4095, help="Most cycles by which a packet out of turn is late."),
    ] = 64,
    timeout: Annotated[
        int,
        typer.Option(
            min=0,
            max=8388607,
            help="Cycles until a packet is sent again; 0 takes what suits the links.",
        ),
    ] = 0,
    retries: Annotated[
        int, typer.Option(min=0, max=255, help="Repetitions before a worker gives up; 0 for ever.")
    ] = 100,
    memory_latency: Annotated[
        int, typer.Option(min=0, max=1023, help="Cycles of the simulated memory.")
    ] = 128,
    memory_stall: Annotated[
        int, typer.Option(min=0, max=250, help="Chance in 256 that the memory pauses, every cycle.")
    ] = 0,
    seed: Annotated[
        int,
        typer.Option(min=0, max=2147483647, help="Of the memory's pauses and the links' faults."),
    ] = 1,
) -> None:
    """Train on the RTL under Verilator, beside the golden model and float64 SGD."""
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
            drop=drop,
            duplicate=duplicate,
            reorder=reorder,
            corrupt=corrupt,
            displacement=displacement,
            seed=seed,
            timeout=timeout,
            retries=retries,
        )
    elif any((drop, duplicate, reorder, corrupt)):
        raise UserError("a single worker has no links: --workers 2 or more gives it some")
    with written_whole(output) as folder:
        exact = execute(console, run, memory, network, preset, folder)
    console.print(f"wrote {output}: result.json, training.png, weights.npz")
    if not exact:
        console.print("the RTL's weights differ from the golden model's", style="red")
        raise typer.Exit(1)
