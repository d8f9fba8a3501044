"""Implements ``ingather list``, which lists designs, presets and parameters."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from gen.designs.catalogue import designs
from gen.designs.design import Design
from gen.settings import parameters


def list_designs(
    params: Annotated[
        bool, typer.Option("--params", help="List the parameters of each design too.")
    ] = False,
) -> None:
    """List designs and their presets, one a line."""
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
