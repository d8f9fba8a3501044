"""``ingather train``."""

from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from gen.catalogue import find_design
from gen.commands import train_options as option
from gen.commands.training_console import execute
from gen.errors import UserError
from gen.output.folder import check_target, written_whole
from gen.settings import make_params, parse_settings
from sim.p4sgd.golden.sgd import Loss, Schedule

DESIGN = "p4sgd-worker"


def train(
    data: option.Data = "digits",
    test: option.Test = None,
    no_shuffle: option.NoShuffle = False,
    output: option.Output = Path("build/train"),
    preset: option.Preset = "small",
    settings: option.Settings = None,
    engines: option.Engines = None,
    loss: option.Loss = Loss.LOGISTIC,
    positive: option.Positive = None,
    bias: option.Bias = False,
    bits: option.Bits = 4,
    stored_bits: option.StoredBits = None,
    global_scale: option.GlobalScale = False,
    center: option.Center = False,
    batch: option.Batch = 64,
    eta: option.Eta = None,
    l2_shift: option.L2Shift = 0,
    epochs: option.Epochs = 30,
    workers: option.Workers = 1,
    schedule: option.Schedule = Schedule.PIPELINED,
    link_latency: option.LinkLatency = 100,
    drop: option.Drop = 0.0,
    duplicate: option.Duplicate = 0.0,
    reorder: option.Reorder = 0.0,
    corrupt: option.Corrupt = 0.0,
    displacement: option.Displacement = 64,
    timeout: option.Timeout = 0,
    retries: option.Retries = 100,
    memory_latency: option.MemoryLatency = 128,
    memory_stall: option.MemoryStall = 0,
    seed: option.Seed = 1,
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

    from sim.p4sgd.training import Options, TrainingRun
    from sim.p4sgd.training_job import MemorySettings, NetworkSettings
    from sim.workloads.datasets import load

    console = Console(highlight=False)
    try:
        with console.status(f"reading {data}"):
            order = None if no_shuffle else seed
            samples = load(
                data,
                loss=loss,
                positive=positive,
                bias=bias or center,  # centred features alone have predictions of mean zero
                order=order,
                test=test,
            )
            options = Options(
                loss=loss,
                bits=bits,
                stored_bits=stored_bits,
                batch=batch,
                eta=eta,
                epochs=epochs,
                l2_shift=l2_shift,
                per_feature=not global_scale,
                center=center,
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
