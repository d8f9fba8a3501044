"""Implements ``ingather first-epoch``, which trains an epoch on a card."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gen.board.boards import find_board
from gen.errors import UserError
from gen.output.folder import MANIFEST
from gen.settings import make_params

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
        typer.Option(
            help="Find the card by this prefix of the driver's files, which has its number."
        ),
    ] = "/dev/xdma0",
) -> None:
    """Train an epoch on a card and compare its weights with the golden model's."""
    manifest = read_manifest(package)
    design = find_board(manifest["board"]["name"]).find(DESIGN)
    params = make_params(
        design.design.params_class, design.settings_of(manifest["preset"]), manifest["settings"]
    )

    import numpy as np

    from sim.p4sgd.on_card import CardError, Devices, train_an_epoch
    from sim.p4sgd.training import TrainingRun, data_of
    from sim.p4sgd.training_workload import TrainingWorkload

    try:
        asked = TrainingWorkload(data=data, epochs=1)
        run = TrainingRun(data_of(asked), params, asked)
    except ValueError as error:
        raise UserError(str(error)) from error
    devices = Devices(
        registers=Path(f"{device}_user"),
        to_card=Path(f"{device}_h2c_0"),
        from_card=Path(f"{device}_c2h_0"),
    )
    try:
        weights = train_an_epoch(run, devices)
    except (OSError, CardError) as error:
        raise UserError(str(error)) from error
    golden, _ = run.golden(np.zeros(run.features, np.int64))
    wrong = int((weights != golden).sum())
    console = Console(highlight=False)
    if wrong:
        console.print(f"{wrong} of {run.features} weights differ from the golden model's")
        raise typer.Exit(1)
    console.print(f"{run.samples} samples: all {run.features} weights equal the golden model's")


def read_manifest(package: Path) -> dict:
    """Read the manifest of a worker's package for a card; raise UserError if it is none."""
    try:
        manifest = json.loads((package / MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{package} is no package: {error}") from error
    if manifest.get("design") != DESIGN or "board" not in manifest:
        raise UserError(f"{package} is no package of {DESIGN} for a card")
    return manifest
