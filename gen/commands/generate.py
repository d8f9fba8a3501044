"""Implements ``ingather generate``, which writes a design's files."""

import time
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from gen.base.errors import UserError
from gen.base.settings import parse_settings
from gen.designs.catalogue import find_design
from gen.output.consoles import Console, waiting
from gen.output.folder import check_target


def positive(mhz: float | None) -> float | None:
    """Return the clock; raise UserError unless it is a frequency above 0."""
    if mhz is not None and not 0 < mhz < inf:
        raise UserError(f"--core-mhz must be above 0, and finite: {mhz:g}")
    return mhz


CoreMhz = Annotated[
    float | None,
    typer.Option(
        callback=positive,
        metavar="MHZ",
        help="Set the clock of the core on the card, 250 MHz unless given: 800, 900, ... 1500,"
        " divided by a whole number; of a kernel for Vitis, any above 0.",
    ),
]


Name = Annotated[str, typer.Argument(help="Generate this design, one of `ingather list`.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Write all files into this folder.")]
Preset = Annotated[str | None, typer.Option(help="Take this named set of parameters.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Set a parameter to another value; may be repeated."
    ),
]
Board = Annotated[
    str | None,
    typer.Option(
        help="Build for this card (u280): add its top, Tcl and XDC;"
        " opennic: as a plugin of OpenNIC's shell; vitis: as a kernel for Vitis."
    ),
]
Platform = Annotated[
    str | None,
    typer.Option(metavar="CARD", help="Build the kernel for this card: u280, u55c, u50 or u250."),
]
Estimate = Annotated[
    bool | None,
    typer.Option(
        help="Estimate resources for the datasheet, and a floorplan of the card; takes minutes,"
        " once.",
        show_default="with --board",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Write nothing if the design does not fit the card.")
]
Source = Annotated[
    bool,
    typer.Option(
        help="Name in comments of the Verilog the lines of Python that its parts come from."
    ),
]


def generate(
    design: Name,
    output: Output,
    preset: Preset = None,
    settings: Settings = None,
    board: Board = None,
    platform: Platform = None,
    core_mhz: CoreMhz = None,
    estimate: Estimate = None,
    strict: Strict = False,
    source: Source = True,
) -> None:
    """Write a design's Verilog, file list, registers, manifest; with --board a card's build."""
    from gen.commands.generating import Order
    from gen.commands.generating import generate as write

    start = time.monotonic()
    order = Order(
        design=find_design(design),
        board=board,
        core_mhz=core_mhz,
        platform=platform,
        preset=preset or "",
        changes=parse_settings(settings or []),
        estimate=estimate,
        strict=strict,
        sources=source,
    )
    order.check()
    check_target(output)
    with waiting(Console(stderr=True), f"generating {design}") as update:
        built = write(order, output, update)
    modules, instances = len(built.emission.modules), sum(built.emission.counts().values())
    typer.echo(
        f"{output}: {built.emission.top.name}, {modules} modules in {instances} instances,"
        f" {len(built.files)} files, {built.size / 1e6:.2f} MB, {time.monotonic() - start:.1f} s"
    )
    for misfit in built.misfits:
        typer.echo(misfit)
