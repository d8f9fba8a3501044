"""Implements ``ingather list``, which lists designs, presets and parameters."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from gen.base.settings import parameters
from gen.designs.catalogue import designs
from gen.designs.design import Design, load
from gen.sweep.subject import Subject


def list_designs(
    params: Annotated[
        bool, typer.Option("--params", help="List the parameters of each design too.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Write designs, presets, parameters, metrics, commands, capacity and cards as"
            " JSON.",
        ),
    ] = False,
) -> None:
    """List designs and their presets, one a line."""
    if as_json:
        known = {name: described(design) for name, design in designs().items()}
        typer.echo(json.dumps(known, indent=1, default=str))
        return
    width = max(map(len, designs())) + 1
    for design in designs().values():
        typer.echo(f"{design.name:{width}}{design.about}")
        for name, settings in design.presets.items():
            default = " (default)" if name == design.preset else ""
            typer.echo(f"  {name:{width - 2}}{shown(settings)}{default}")
        if params:
            list_parameters(design)


def shown(settings: Mapping[str, Any]) -> str:
    """Return settings as the command line writes them."""
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "all defaults"


def list_parameters(design: Design) -> None:
    """Print a line for each parameter: name, default, meaning."""
    for parameter in parameters(design.params_class):
        default = str(parameter.default).lower() if parameter.kind is bool else parameter.default
        typer.echo(f"  --set {parameter.name}={default} ".ljust(36) + parameter.doc)


def described(design: Design) -> dict[str, Any]:
    """Return presets, parameters, metrics, commands and more of a design, fit for JSON.

    A parameter has the Python type of its value, its default and its meaning; presets and
    parameters are named as ``--preset`` and ``--set`` take them. Metrics are those of sweeps, by
    the name of the run. The capacity of a preset is the most data that fit, a row for each
    precision.
    """
    return {
        "about": design.about,
        "presets": {name: dict(settings) for name, settings in design.presets.items()},
        "preset": design.preset,
        "parameters": {
            item.path: {
                "type": getattr(item.kind, "__name__", str(item.kind)),
                "default": item.default,
                "about": item.doc,
            }
            for item in parameters(design.params_class)
        },
        "metrics": {run.name: Subject(design, run.name).metrics() for run in design.runs},
        "commands": [run.command for run in design.runs if run.command],
        "capacity": {
            preset: load(design.capacity)(design.params_of(preset))
            for preset in (design.presets if design.capacity else ())
        },
        "cards": {name: list(card.presets) for name, card in design.cards.items()},
    }
