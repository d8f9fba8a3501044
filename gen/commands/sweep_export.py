"""Implements ``ingather sweep export``, which writes a sweep as a table."""

from pathlib import Path
from typing import Annotated

import typer

from gen.output.consoles import Console
from gen.sweep.export import export as write
from gen.sweep.export import writer_for
from gen.sweep.reading import read_results

EXAMPLE = "ingather sweep export build/p4sgd-scaling.sqlite -o build/p4sgd-scaling.csv"

Results = Annotated[Path, typer.Argument(metavar="A", help="Read these results of a sweep.")]
Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        help="Write into this FILE.csv or FILE.parquet, or draw Pareto fronts in FILE.png.",
    ),
]


def export(results: Results, output: Output) -> None:
    """Write the points of a sweep as a table, a row a point, or draw metrics against sizes."""
    writer_for(output)
    read = read_results(results)
    written, total = write(read.points, output, read.spec.get("metrics", ())), len(read.points)
    part = f"{written} of {total}" if written < total else total
    Console().print(f"wrote {output}: {part} points")
