"""Implements ``ingather reproduce``, which makes a paper's figures anew."""

import inspect
import json
from collections.abc import Iterator, Mapping
from contextvars import copy_context
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import typer

from gen.base.errors import UserError, unknown
from gen.base.heads import built_line
from gen.commands.on_cluster import SCHEDULER, client_of
from gen.commands.options import parameter, spelled, value_of, with_options
from gen.designs.design import load
from gen.output.consoles import Console, Table, bar
from gen.output.folder import MADE_BY, MANIFEST, check_target, written_whole
from gen.packages import require
from gen.papers.catalogue import PAPERS, Paper, find_paper
from hdl.common.core_clock import CORE_MHZ


def command() -> Any:
    """Return the function of the command, with the options of all papers."""
    known = PAPERS.values()
    names = "; ".join(f"of {paper.name} {', '.join(paper.figure_names)}" for paper in known)
    options = [
        parameter(
            "paper",
            str,
            inspect.Parameter.empty,
            typer.Argument(help=f"Reproduce this paper: {', '.join(PAPERS)}."),
        ),
        parameter(
            "output",
            Path,
            Path("build/reproduce"),
            typer.Option(
                "-o", "--output", help="Write report, tables and pictures into this folder."
            ),
        ),
        parameter(
            "only",
            list[str] | None,
            None,
            typer.Option(
                "--only",
                metavar="NAME",
                help=f"Make this figure alone; may be repeated: {names}.",
            ),
        ),
        parameter(
            "quick",
            bool,
            False,
            typer.Option("--quick", help="Measure fewer and smaller points, which takes minutes."),
        ),
        parameter("scheduler", str | None, None, SCHEDULER),
        *(option for paper in known for option in options_of(paper)),
    ]
    built = with_options(execute, options)
    built.__doc__ = (
        "Reproduce a paper's figures by simulation, and report which of its statements hold."
    )
    return built


def options_of(paper: Paper) -> Iterator[inspect.Parameter]:
    """Yield an option for each setting that only ``paper`` has; None unless the user gives it."""
    hints = get_type_hints(paper.requested_class)
    for item in fields(paper.requested_class):
        yield value_of(item, hints[item.name], paper.name)


def requested_from(paper: Paper, values: Mapping[str, Any]) -> Any:
    """Return the settings that the options give; raise UserError for an option of another paper."""
    provided: dict[str, Any] = {}
    for other in PAPERS.values():
        for item in fields(other.requested_class):
            if values[item.name] is None:
                continue
            if other is not paper:
                text = f"{spelled(item.name)} is an option of {other.name}, not of {paper.name}"
                raise UserError(text)
            provided[item.name] = values[item.name]
    try:
        return paper.requested_class(**provided)
    except ValueError as error:
        raise UserError(str(error)) from error


def execute(values: Mapping[str, Any]) -> None:
    """Make the figures that the command line asks for, and the page that shows them."""
    paper, output = find_paper(values["paper"]), values["output"]
    for name in values["only"] or ():
        if name not in paper.figure_names:
            raise unknown("figure", name, paper.figure_names)
    requested = requested_from(paper, values)
    check_target(output)
    require("reproduce", *paper.needs)
    console = Console()
    with written_whole(output) as folder:
        names = values["only"] or paper.figure_names
        with client_of("reproduce", values["scheduler"]) as client:
            settings = client, console, paper, names, requested, values["quick"]
            report = copy_context().run(make, *settings)
        files = report.write(folder, built_line([CORE_MHZ]))
        manifest = {"made_by": MADE_BY, "command": "reproduce", "files": files}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    console.print(summary(report.figures))
    console.print(f"wrote {output}: {files[0]} and {len(files) - 1} tables and pictures")


def make(
    client: Any, console: Console, paper: Paper, names: Any, requested: Any, quick: bool
) -> Any:
    """Make the report, behind a bar of progress; ``client`` is that of a cluster, or None."""
    from sim.reproduce.outcomes import CLIENT

    CLIENT.set(client)
    with bar(console) as progress:
        task = progress.add_task("starting")
        before = ""

        def show(text: str, done: int, total: int) -> None:
            nonlocal before
            progress.update(task, description=text, completed=done, total=total)
            if not console.is_terminal and text != before:
                console.print(f"{done} of {total}: {text}", style="dim")
            before = text

        return load(paper.reproduce)(list(names), requested, quick=quick, progress=show)


def summary(figures: list[Any]) -> Table:
    """Return a table of all statements, whose each is, and whether it holds."""
    from rich.text import Text

    table = Table(expand=False)
    table.add_column("figure")
    table.add_column("statement", overflow="fold")
    table.add_column("whose")
    table.add_column("holds")
    for figure in figures:
        for index, claim in enumerate(figure.claims):
            style = "green" if claim.holds else "bold red"
            name = figure.name if not index else ""
            table.add_row(name, claim.text, claim.source, Text(claim.verdict, style))
    return table


reproduce = command()
