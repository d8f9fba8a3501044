"""Implements ``ingather report``, which puts results on one page."""

from pathlib import Path
from typing import Annotated

import typer

from gen.base.errors import UserError
from gen.output.consoles import Console, waiting
from gen.output.folder import check_file, write_file

DEFAULT_OUTPUT = Path("build/report.html")

Places = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="DIR",
        help="Show the results in these folders or files; those in build if none is given.",
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Write the page into this HTML file.")]


def report(places: Places = None, output: Output = DEFAULT_OUTPUT) -> None:
    """Put sweeps, regressions, coverage, estimates and runs of designs on one page of HTML.

    The page needs no network and no other file. It shows what `ingather sweep`, `verify`,
    `synth -o`, `train`, `spmm`, `gcn` and `gather` have left in the folders.
    """
    if output.is_dir():
        raise UserError(f"{output} is a folder; the page is a file, such as {output}/report.html")
    if output != DEFAULT_OUTPUT:  # whose folder is ours to make
        check_file(output)

    from gen.report.report import report as make_page
    from gen.report.sources import find

    with waiting(Console(stderr=True), "reading results"):
        page, left_out = make_page(find(places or [Path("build")]))
    if output == DEFAULT_OUTPUT:
        output.parent.mkdir(exist_ok=True)
    write_file(output, page)
    console = Console()
    for line in left_out:
        console.print(f"left out: {line}", style="yellow")
    console.print(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB)")
