"""Implements ``ingather synth``, which estimates a design's resources."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from gen.base.errors import UserError, unknown
from gen.base.settings import make_params, parse_settings
from gen.board.boards import BoardDesign, find_board
from gen.commands.generate import CoreMhz, Preset, Settings
from gen.designs.catalogue import find_design
from gen.designs.design import Design, load
from gen.output.consoles import Console, waiting
from gen.output.folder import check_file, write_file
from gen.packages import require
from gen.shells.shells import SHELLS

JsonFile = Annotated[
    str | None,
    typer.Option(
        *("-o", "--output", "--json"),
        metavar="FILE",
        help="Write the figures into this file, as JSON; - is standard output.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, help="Map this many modules at a time; as many as there are cores unless given."
    ),
]


def choose(
    design: str,
    preset: str | None,
    settings: list[str] | None,
    card: str | None = None,
    core_mhz: float | None = None,
) -> tuple[Design | BoardDesign, str, Any]:
    """Return the design or its top for a card or shell, the preset, the parameters asked for."""
    of_design = find_design(design)
    chosen: Design | BoardDesign = of_design
    if card is not None:
        shell = SHELLS.get(card)
        chosen = shell.find(design) if shell else find_board(card).find(design, core_mhz)
    preset = chosen.preset if preset is None else preset
    changes = parse_settings(settings or [])
    return chosen, preset, make_params(of_design.params_class, chosen.settings_of(preset), changes)


def synth(
    design: Annotated[str, typer.Argument(help="Estimate this design, one of `ingather list`.")],
    preset: Preset = None,
    settings: Settings = None,
    json_file: JsonFile = None,
    board: Annotated[
        str,
        typer.Option(
            help="Compare the estimate with what this card offers; vitis, opennic: estimate the"
            " design inside its kernel, or its plugin."
        ),
    ] = "u280",
    strict: Annotated[
        bool, typer.Option(help="Exit with status 2 if the design does not fit the card.")
    ] = False,
    card: Annotated[
        bool,
        typer.Option("--card", help="Estimate the design inside its top for the card, die by die."),
    ] = False,
    core_mhz: CoreMhz = None,
    jobs: Jobs = None,
) -> None:
    """Estimate what a design takes of a card: LUTs, registers, memories, logic depth."""
    from gen.synth.device import DEVICES

    shell = SHELLS.get(board)
    if board not in {**DEVICES, **SHELLS}:
        raise unknown("board", board, {**DEVICES, **SHELLS})
    if core_mhz is not None and not (card or (shell and shell.platforms)):
        raise UserError(
            "--core-mhz needs --card or --board vitis: without a card you give the clock"
        )
    top = board if card or shell else None
    chosen, preset, params = choose(design, preset, settings, top, core_mhz)
    check_json_file(json_file)
    if card and not shell:
        require("synth --card", "highspy")

    from gen.synth.device import fits
    from gen.synth.report import console, report

    device = shell.device if shell else DEVICES[board]
    emission, synthesis = estimate(chosen.make(params), design, jobs)
    if shell and core_mhz:
        synthesis = synthesis.clocked(core_mhz)
    paper = "" if isinstance(chosen, BoardDesign) else chosen.paper
    comparisons = load(paper)(synthesis) if paper else None
    lacks = fits(synthesis.total, device)
    crossings = None if shell else crossings_of(emission, chosen, board, synthesis)
    if json_file != "-":
        lines = [] if crossings is None else crossing_lines(crossings)
        console().print(report(synthesis, device, comparisons, lines))
    if json_file is not None:
        write_json(
            json_file,
            {
                "design": design,
                "preset": preset,
                "parameters": asdict(params),
                **synthesis.describe(),
                "fits": not lacks,
                "lacks": lacks,
                "too_slow": list(synthesis.too_slow()),
                "crossings": crossings,
                "device": describe_device(device),
                "paper": comparisons.describe() if comparisons else None,
            },
        )
    if strict and lacks:
        raise UserError("; ".join(lacks))


def crossings_of(
    emission: Any, chosen: Design | BoardDesign, board: str, synthesis: Any
) -> list[str] | None:
    """Return what hinders a floorplan, such as unregistered wires between dies; None if no card.

    A wire between dies has a register at both ends: a floorplan is one only if all have.
    """
    if not isinstance(chosen, BoardDesign):
        return None
    from gen.board.placement import place

    placed, lines = place(emission, find_board(board), chosen.design, synthesis)
    return [] if placed is not None else lines


def crossing_lines(crossings: list[str]) -> list[str]:
    """Return the lines that tell a reader about the floorplan."""
    stored = "every wire between dies has a register at both ends"
    return [f"warning: {line}" for line in crossings] or [stored]


def estimate(component: Any, design: str, jobs: int | None = None) -> tuple[Any, Any]:
    """Return the Emission and the Synthesis of ``component``, with progress on standard error."""
    from gen.board.placement import estimated
    from sim.harness.cache import cached_folder
    from sim.harness.emissions import emission_of

    try:
        with waiting(Console(stderr=True), f"generating {design}") as update:
            emission = emission_of(
                component,
                generated=True,
                progress=lambda name: update(f"elaborating {name}"),
            )
            return emission, estimated(emission, update, cached_folder, jobs)
    except KeyboardInterrupt as stop:
        stop.add_note("modules that are mapped stay in the cache: the same command goes on there")
        raise


def describe_device(device: Any) -> dict[str, Any]:
    """Return a device as an object of JSON."""
    slrs = [asdict(slr) | {"free": slr.free} for slr in device.slrs]
    return {"name": device.name, "part": device.part, "slrs": slrs}


def check_json_file(target: str | None) -> None:
    """Raise UserError early if the file for JSON cannot be written."""
    if target not in (None, "-"):
        check_file(Path(target))


def write_json(target: str, content: Mapping[str, Any]) -> None:
    """Write ``content`` as JSON to a file, or to standard output."""
    text = json.dumps(content, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    write_file(Path(target), text)
