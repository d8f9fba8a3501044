"""Implements ``ingather sweep diff``, which compares two sweeps."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from gen.commands.synth import check_json_file, write_json
from gen.output.consoles import Console, Table
from gen.sweep.diff import Change, Difference, compare
from gen.sweep.reading import read_results

ROWS = 40  #: changes that are shown
EXAMPLE = "ingather sweep diff build/before.sqlite build/after.sqlite --relative-threshold 0.01"

First = Annotated[Path, typer.Argument(metavar="A", help="Read these results of a sweep.")]
Second = Annotated[Path, typer.Argument(metavar="B", help="Compare these results with those of A.")]
Threshold = Annotated[
    float,
    typer.Option(
        "--relative-threshold",
        min=0,
        help="Leave out changes up to this share of A's metric, such as 0.01.",
    ),
]
Common = Annotated[
    bool, typer.Option("--common", help="Leave out points that only one of them has.")
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        *("-o", "--output", "--json"),
        metavar="FILE",
        help="Write the whole comparison into this file, as JSON; - is standard output.",
    ),
]


def diff(
    first: First,
    second: Second,
    threshold: Threshold = 0.0,
    common: Common = False,
    json_file: JsonFile = None,
) -> None:
    """Show which metrics of equal points differ between two sweeps; exit 1 if any does."""
    check_json_file(json_file)
    difference = compare(read_results(first).points, read_results(second).points, threshold)
    if json_file != "-":
        show(Console(), difference)
    if json_file is not None:
        write_json(json_file, difference.describe())
    if difference.changes or not (common or difference.equal):
        raise typer.Exit(1)


def show(console: Console, difference: Difference) -> None:
    """Print a table of changes, and the points that only one sweep has."""
    changes, names = difference.changes, difference.varying
    if changes:
        console.print(table(changes[:ROWS], names))
    if len(changes) > ROWS:
        console.print(f"and {len(changes) - ROWS} more: -o FILE has all")
    for name, points in (("A", difference.only_first), ("B", difference.only_second)):
        if points:
            text = f"points only in {name}: {len(points)}, such as {in_words(points[0], names)}"
            console.print(text)
    changed = len({tuple(change.settings.items()) for change in changes})
    console.print(f"points in both: {difference.common}; of them differ: {changed}")


def table(changes: Sequence[Change], names: Sequence[str]) -> Table:
    """Return a table with a row for each change, and a column for each of ``names``."""
    built = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        built.add_column(name, justify="right", overflow="fold")
    built.add_column("metric", overflow="fold")
    for name in ("A", "B", "B - A", "%"):
        built.add_column(name, justify="right", overflow="fold")
    for change in changes:
        settings = (str(change.settings.get(name, "-")) for name in names)
        relative = f"{100 * change.relative:+.3g}" if isfinite(change.relative) else "-"
        figures = (figure(value) for value in (change.before, change.after, change.absolute))
        built.add_row(*settings, change.metric, *figures, relative)
    return built


def figure(value: float | str | None) -> str:
    """Return a metric or a status as people read it."""
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def in_words(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return a point in a line: the settings of ``names``, or all if it has none of them."""
    chosen = {name: settings[name] for name in names if name in settings} or settings
    return ", ".join(f"{name}={value}" for name, value in chosen.items())
