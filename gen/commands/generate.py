"""``ingather generate``."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gen.board.boards import find_board
from gen.designs.catalogue import find_design
from gen.errors import UserError
from gen.output.folder import check_target, written_whole
from gen.packages import require
from gen.settings import make_params, parse_settings


def generate(
    design: Annotated[str, typer.Argument(help="Generate this design, one of `ingather list`.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Write all files into this folder.")
    ],
    preset: Annotated[str | None, typer.Option(help="Take this named set of parameters.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set a parameter to another value; may be repeated."
        ),
    ] = None,
    board: Annotated[
        str | None, typer.Option(help="Build for this card (u280): add its top, Tcl and XDC.")
    ] = None,
    estimate: Annotated[
        bool | None,
        typer.Option(
            help="Estimate resources for the datasheet, and a floorplan of the card; takes minutes,"
            " once.",
            show_default="with --board",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if the design does not fit the card.")
    ] = False,
) -> None:
    """Write a design's Verilog, file list, registers and manifest; all of a card's build too."""
    start = time.monotonic()
    chosen = find_design(design)
    if board is None and strict:
        raise UserError("--strict needs --board: without a card there is nothing to fit")
    if strict and estimate is False:
        raise UserError("--strict needs the estimate that --no-estimate leaves out")
    card = None if board is None else find_board(board)
    on_card = None if card is None else card.find(design)
    target = on_card or chosen
    preset = target.preset if preset is None else preset
    changes = parse_settings(settings or [])
    params = make_params(chosen.params_class, target.settings_of(preset), changes)
    check_target(output)
    if card is not None:
        require("generate --board", "pyslang", *(() if estimate is False else ("highspy",)))

    from gen.board.black_boxes import with_boxes
    from gen.board.package import write_package
    from gen.board.placement import estimated, place
    from gen.emission.emit import emit
    from gen.output.manifest import write_design

    with Console(stderr=True).status(f"generating {design}") as status:
        component = target.make(params)
        emission = emit(component, progress=lambda name: status.update(f"elaborating {name}"))
        synthesis, placement, misfits = None, None, []
        if card is not None if estimate is None else estimate:
            from sim.harness.cache import cached_folder

            synthesis = estimated(emission, status.update, cached_folder)
        if card is not None and synthesis is not None:
            placement, misfits = place(emission, card, chosen, synthesis)
    if strict and misfits:
        raise UserError("; ".join(misfits))
    with written_whole(output) as folder:
        described = emission if card is None else with_boxes(emission)
        resources = None if synthesis is None else synthesis.describe()
        names = {"design": design, "preset": preset, "settings": changes}
        files = write_design(folder, described, **names, resources=resources)
        if card is not None:
            files |= write_package(folder, emission, card, chosen, placement)
        size = sum((folder / name).stat().st_size for name in files)
    modules, instances = len(emission.modules), sum(emission.counts().values())
    typer.echo(
        f"{output}: {emission.top.name}, {modules} modules in {instances} instances,"
        f" {len(files)} files, {size / 1e6:.2f} MB, {time.monotonic() - start:.1f} s"
    )
    for misfit in misfits:
        typer.echo(misfit)
