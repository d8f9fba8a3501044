"""Implements ``make bench``, which measures what the project promises in numbers."""

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gen.designs.catalogue import designs
from gen.designs.design import Bench, Design, load
from gen.output.consoles import Console, Table, bar
from gen.papers.catalogue import PAPERS

EXAMPLE = "Example: python -m gen.commands.bench --only cycles --json build/bench.json"

Rows = list[Any]  #: rows of a bench: sim.bench.limits.Row

#: Measurements that are made of every design in the same way, by their names.
OF_ALL = {
    "timing": Bench(
        title="Every design on its card: limits that its clock sets on the netlist",
        rows="gen.commands.bench_timing:rows",
    ),
    "verilog": Bench(
        title="Every design's Verilog, as a reader meets it",
        rows="gen.commands.bench_verilog:rows",
    ),
    "route": Bench(
        title="Components that decide the clock, placed and routed alone on an ECP5",
        rows="gen.commands.bench_route:rows",
    ),
}


def parts() -> dict[str, tuple[Design | None, Bench]]:
    """Return every measurement by its name, with the design that it belongs to.

    Measurements are named by the descriptors of designs and of papers, and by ``OF_ALL``. The
    design is None for those of papers and for those of all designs together.
    """
    of_designs = {
        name: (design, bench)
        for design in designs().values()
        for name, bench in design.benches.items()
    }
    of_papers = {
        name: (None, bench) for paper in PAPERS.values() for name, bench in paper.benches.items()
    }
    of_all = {name: (None, bench) for name, bench in OF_ALL.items()}
    return {**of_designs, **of_papers, **of_all}


def measure(part: str, progress: Callable[[str], None]) -> Rows:
    """Return the rows of a part; ``progress`` takes texts that say what is going on."""
    design, bench = parts()[part]
    rows = load(bench.rows)
    if design is None or not bench.preset:
        return rows(progress)
    return rows(progress, design.params_of(bench.preset))


def table(title: str, rows: Rows) -> Table:
    """Return the rows as a table for the console."""
    from rich.text import Text

    from sim.bench.limits import number

    built = Table(title=title, title_justify="left", expand=False)
    built.add_column("what")
    built.add_column("measured", justify="right")
    built.add_column("limit", justify="right")
    built.add_column("holds")
    built.add_column("how", style="dim", overflow="fold")
    for row in rows:
        style = {"yes": "green", "NO": "bold red"}.get(row.verdict, "")
        built.add_row(
            row.what,
            f"{number(row.value)} {row.unit}".rstrip(),
            "" if row.limit is None else f"{row.limit} {row.unit}".rstrip(),
            Text(row.verdict, style) if style else "",
            row.note,
        )
    return built


def machine() -> str:
    """Describe the machine that the times were measured on."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores, Python {platform.python_version()}{load}"


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help=f"Measure a part alone: {', '.join(parts())}."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the numbers into this JSON file too."),
    ] = None,
) -> None:
    """Measure everything that has a limit, side by side in one run; exit status 1 if one fails."""
    known = parts()
    if wrong := [part for part in only or () if part not in known]:
        raise typer.BadParameter(f"no such part: {wrong[0]}; there are {', '.join(known)}")
    console = Console()
    console.print(machine())
    results = {part: run(part, console) for part in only or known}
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        plain = {part: [row.result() for row in rows] for part, rows in results.items()}
        file.write_text(json.dumps(plain, indent=1) + "\n")
    broken = failures(results)
    limited = sum(row.limit is not None for rows in results.values() for row in rows)
    for line in broken:
        console.print(line, style="bold red")
    console.print(f"{limited - len(broken)} of {limited} limits are kept")
    if broken:
        raise typer.Exit(1)


def run(part: str, console: Console) -> Rows:
    """Measure a part behind a line of progress, and print its table."""
    with bar(console) as progress:
        task = progress.add_task(part, total=None)
        show = console.print if not console.is_terminal else None

        def say(what: str) -> None:
            progress.reset(task, description=what)
            if show is not None:
                show(f"{part}: {what}", style="dim")

        rows = measure(part, say)
    console.print(table(parts()[part][1].title, rows))
    return rows


def failures(results: dict[str, Rows]) -> list[str]:
    """Return a line for each limit that is exceeded."""
    return [
        f"{part}: {row.what}: {row.value:,.4g} {row.unit} is not {row.limit} {row.unit}"
        for part, rows in results.items()
        for row in rows
        if not row.holds
    ]


def main() -> None:
    """Run the bench as a program."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(epilog=EXAMPLE)(bench)
    app(prog_name="python -m gen.commands.bench")


if __name__ == "__main__":
    main()
