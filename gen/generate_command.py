"""``ingather generate``."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gen.catalogue import find_design
from gen.folder import check_target, written_whole
from gen.settings import make_params, parse_settings


def generate(
    design: Annotated[str, typer.Argument(help="One of `ingather list`.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")],
    preset: Annotated[str | None, typer.Option(help="A named set of parameters.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter.")
    ] = None,
) -> None:
    """Write a design's Verilog, file list, registers and manifest."""
    start = time.monotonic()
    chosen = find_design(design)
    preset = chosen.preset if preset is None else preset
    changes = parse_settings(settings or [])
    params = make_params(chosen.params_class, chosen.settings_of(preset), changes)
    check_target(output)

    from gen.emit import emit
    from gen.manifest import write_design

    with Console(stderr=True).status(f"generating {design}") as status:
        component = chosen.make(params)
        emission = emit(component, progress=lambda name: status.update(f"elaborating {name}"))
    with written_whole(output) as folder:
        files = write_design(folder, emission, design=design, preset=preset, settings=changes)
        size = sum((folder / name).stat().st_size for name in files)
    modules, instances = len(emission.modules), sum(emission.counts().values())
    typer.echo(
        f"{output}: {emission.top.name}, {modules} modules in {instances} instances,"
        f" {len(files)} files, {size / 1e6:.2f} MB, {time.monotonic() - start:.1f} s"
    )
