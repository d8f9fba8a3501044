"""The options of ``ingather spmm``."""

from pathlib import Path
from typing import Annotated

import typer

from sim.netsparse.spmm import MOST_LINK_LATENCY, MOST_MEMORY_LATENCY
from sim.workloads.matrices import FAMILIES

MOST_NODES = 16

Matrix = Annotated[
    str,
    typer.Option(
        metavar="FAMILY[:KEY=VALUE,...]|PATH",
        help=f"{', '.join(FAMILIES)}, or a Matrix Market file (.gz, .bz2 and .xz too).",
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for results and picture.")]
Preset = Annotated[str, typer.Option(help="Hardware: tiny, small, u280 or paper.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the hardware."),
]
Nodes = Annotated[
    int, typer.Option(min=2, max=MOST_NODES, help="Nodes; at most those of the hardware.")
]
PropertyBytes = Annotated[int, typer.Option(help="Of a property: a row of the dense matrix.")]
Units = Annotated[
    int | None, typer.Option(help="RIG units of a node that are clients; all but the servers.")
]
Servers = Annotated[int | None, typer.Option(help="Of a node's units, servers; half of them.")]
Batch = Annotated[int, typer.Option(help="Idxs of a work request.")]
NoFilter = Annotated[bool, typer.Option("--no-filter", help="Without the idx filter.")]
NoCoalesce = Annotated[bool, typer.Option("--no-coalesce", help="Without coalescing.")]
NoConcatenate = Annotated[bool, typer.Option("--no-concatenate", help="A PR a packet.")]
NaiveHost = Annotated[
    bool, typer.Option("--naive-host", help="Host memory in spans of 128 bytes, not in lines.")
]
Rings = Annotated[
    bool,
    typer.Option(
        "--rings", help="Work requests and completions in rings in host memory, not in registers."
    ),
]
ReadDelay = Annotated[int, typer.Option(help="Cycles that a read may wait for others.")]
ResponseDelay = Annotated[int, typer.Option(help="Cycles that a response may wait for others.")]
HostLatency = Annotated[
    int, typer.Option(min=0, max=MOST_MEMORY_LATENCY, help="Cycles of host memory.")
]
DramLatency = Annotated[
    int, typer.Option(min=0, max=MOST_MEMORY_LATENCY, help="Cycles of the SNIC's memory.")
]
LinkLatency = Annotated[
    int,
    typer.Option(min=0, max=MOST_LINK_LATENCY, help="Cycles from one SNIC to another."),
]
Seed = Annotated[int, typer.Option(min=0, max=2147483647, help="Of the matrix and the numbers.")]
