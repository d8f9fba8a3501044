"""``ingather reproduce``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gen.errors import UserError, unknown
from gen.output.folder import MADE_BY, MANIFEST, check_target, written_whole

PAPERS = ("p4sgd",)
LINK_LATENCY = 130  #: cycles: an AllReduce takes about as long as the paper's
MOST_LATENCY = 4095


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"Reproduce this paper: {', '.join(PAPERS)}.")],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Write report, tables and pictures into this folder."),
    ] = Path("build/reproduce"),
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Make this figure alone; may be repeated: allreduce, parallelism, batch-size,"
            " scale-up, scale-out, convergence.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Measure fewer and smaller points, which takes about two minutes."
        ),
    ] = False,
    link_latency: Annotated[
        int,
        typer.Option(
            help="Let a link from worker to switch, or back, take so many cycles, up to 4095."
        ),
    ] = LINK_LATENCY,
) -> None:
    """Reproduce a paper's figures on the RTL; whether its statements hold, in one report."""
    if paper not in PAPERS:
        raise unknown("paper", paper, PAPERS)
    if not 0 <= link_latency <= MOST_LATENCY:
        raise UserError(f"--link-latency must be from 0 to {MOST_LATENCY}: {link_latency}")

    from sim.p4sgd.reproduce.report import FIGURES, REPORT, write

    for name in only or ():
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    check_target(output)
    console = Console(highlight=False)
    with written_whole(output) as folder:
        figures = make(console, only or list(FIGURES), quick, link_latency)
        files = write(figures, folder)
        manifest = {"made_by": MADE_BY, "command": "reproduce", "files": files}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    console.print(summary(figures))
    console.print(f"wrote {output}: {REPORT} and {len(files) - 1} tables and pictures")


def make(console: Console, names: list[str], quick: bool, link_latency: int) -> list[Any]:
    """The figures, behind a bar of progress."""
    from sim.p4sgd.reproduce.report import reproduce as make_figures

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting")
        before = ""

        def show(text: str, done: int, total: int) -> None:
            nonlocal before
            progress.update(task, description=text, completed=done, total=total)
            if not console.is_terminal and text != before:
                console.print(f"{done} of {total}: {text}", style="dim")
            before = text

        return make_figures(names, quick=quick, link_latency=link_latency, progress=show)


def summary(figures: list[Any]) -> Table:
    """Every statement, and whether it holds."""
    table = Table(expand=False)
    table.add_column("figure")
    table.add_column("statement", overflow="fold")
    table.add_column("holds")
    for figure in figures:
        for index, claim in enumerate(figure.claims):
            style = "green" if claim.holds else "bold red"
            name = figure.name if not index else ""
            table.add_row(name, claim.text, f"[{style}]{claim.verdict}[/]")
    return table
