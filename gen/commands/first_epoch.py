"""Implements ``ingather first-epoch``, which trains an epoch on a card."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gen.base.errors import UserError
from gen.output.consoles import Console
from gen.output.folder import MANIFEST

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.p4sgd.training import TrainingRun

DESIGN = "p4sgd-worker"


def first_epoch(
    package: Annotated[
        Path,
        typer.Argument(
            help="Read this folder, which `generate --board` wrote for the card's bitstream."
        ),
    ],
    data: Annotated[
        str, typer.Option(help="Train on these samples, named as for `ingather train --data`.")
    ] = "digits",
    device: Annotated[
        str,
        typer.Option(help="Use the card whose driver's files begin with this prefix."),
    ] = "/dev/xdma0",
) -> None:
    """Train an epoch on a card and compare its weights with the golden model's."""
    import numpy as np

    from gen.base.settings import make_params
    from gen.board.boards import find_board
    from sim.host.device import DeviceError
    from sim.p4sgd.training import TrainingRun, data_of
    from sim.p4sgd.training_workload import TrainingWorkload

    manifest = read_manifest(package)
    if manifest.get("board") is None:
        raise UserError(f"{package} is for no card: ingather generate {DESIGN} --board u280 -o DIR")
    try:
        design = find_board(manifest["board"]["name"]).find(DESIGN)
        preset, changes = design.settings_of(manifest["preset"]), manifest["settings"]
        params = make_params(design.design.params_class, preset, changes)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{package} is no package: its {MANIFEST} is damaged ({error})") from error
    try:
        requested = TrainingWorkload(data=data, epochs=1)
        run = TrainingRun(data_of(requested, classes=params.classes), params, requested)
    except ValueError as error:
        raise UserError(str(error)) from error
    try:
        weights = train_an_epoch(run, device)
    except DeviceError as error:
        raise UserError(str(error)) from error
    golden, _ = run.golden(np.zeros(run.shape, np.int64))
    wrong = int((weights != golden).sum())
    console = Console()
    if wrong:
        console.print(f"{wrong} of {golden.size} weights differ from the golden model's")
        raise typer.Exit(1)
    console.print(f"{run.samples} samples: all {golden.size} weights equal the golden model's")


def train_an_epoch(run: "TrainingRun", device: str, seconds: float = 60.0) -> "NDArray[np.int64]":
    """Train one epoch of ``run`` on a card alone, from weights 0; return the weights [D].

    It is done by the host software that is handed out with the design. DeviceError says what is
    wrong with the card; ``seconds`` bounds each wait.
    """
    from gen.base.registers.python_driver import driver_module, driver_of
    from gen.software.p4sgd_worker import software
    from sim.host.xdma import opened
    from sim.p4sgd.host.build import Build
    from sim.p4sgd.host.worker import Worker

    built, requested = software(run.params), run.requested
    module, build = driver_module(built.map), Build(**built.build)
    with opened(module.MappedBus, device, build.board["memory_ready"][:2]) as card:
        worker = Worker(card, driver_of(built.map, card), build)
        worker.seconds = seconds
        worker.load(run.codes, run.targets, bits=requested.bits, signed=run.quantiser.signed)
        worker.clear_counters()
        worker.run(loss=requested.loss, batch=requested.batch, rate=run.eta, l2_shift=run.l2_shift)
        return worker.weights()


def read_manifest(package: Path) -> dict:
    """Read the manifest of a worker's package for a card; raise UserError if it is none."""
    try:
        manifest = json.loads((package / MANIFEST).read_text())
    except FileNotFoundError:
        raise UserError(f"{package} is no package: there is no {package / MANIFEST}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{package} is no package: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("design") != DESIGN:
        raise UserError(f"{package} is no package of {DESIGN} for a card")
    return manifest
