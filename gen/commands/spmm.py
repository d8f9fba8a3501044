"""``ingather spmm``."""

from pathlib import Path

import typer
from rich.console import Console

from gen.catalogue import find_design
from gen.commands import spmm_options as option
from gen.commands.gather_console import execute
from gen.errors import UserError
from gen.output.folder import check_target, written_whole
from gen.settings import make_params, parse_settings

DESIGN = "netsparse-snic"


def spmm(
    matrix: option.Matrix = "stokes",
    output: option.Output = Path("build/spmm"),
    preset: option.Preset = "small",
    settings: option.Settings = None,
    nodes: option.Nodes = 2,
    property_bytes: option.PropertyBytes = 64,
    units: option.Units = None,
    servers: option.Servers = None,
    batch: option.Batch = 1024,
    no_filter: option.NoFilter = False,
    no_coalesce: option.NoCoalesce = False,
    no_concatenate: option.NoConcatenate = False,
    naive_host: option.NaiveHost = False,
    rings: option.Rings = False,
    read_delay: option.ReadDelay = 500,
    response_delay: option.ResponseDelay = 500,
    host_latency: option.HostLatency = 128,
    dram_latency: option.DramLatency = 64,
    link_latency: option.LinkLatency = 100,
    seed: option.Seed = 1,
) -> None:
    """Multiply a sparse matrix on SNICs in RTL: gather what is remote, compare with scipy."""
    design = find_design(DESIGN)
    params = make_params(
        design.params_class, design.settings_of(preset), parse_settings(settings or [])
    )
    check_target(output)

    from sim.netsparse.spmm import SpmmOptions, SpmmRun, matrix_for

    console = Console(highlight=False)
    try:
        with console.status(f"reading {matrix}"):
            options = SpmmOptions(
                property_bytes=property_bytes,
                units=units,
                servers=servers,
                batch=batch,
                filter=not no_filter,
                coalesce=not no_coalesce,
                concatenate=not no_concatenate,
                aligned=not naive_host,
                rings=rings,
                read_delay=read_delay,
                response_delay=response_delay,
                host_latency=host_latency,
                dram_latency=dram_latency,
                link_latency=link_latency,
                seed=seed,
            )
            run = SpmmRun(matrix_for(matrix, nodes, seed), nodes, params, options)
    except ValueError as error:
        raise UserError(str(error)) from error
    with written_whole(output) as folder:
        exact = execute(console, run, matrix, preset, folder)
    console.print(f"wrote {output}: result.json, spmm.png")
    if not exact:
        raise typer.Exit(1)
