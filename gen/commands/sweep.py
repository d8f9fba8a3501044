"""Implements ``ingather sweep``, and the group in which ``diff`` and ``export`` are."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gen.commands import sweep_diff, sweep_export
from gen.commands.on_cluster import Scheduler
from gen.output.consoles import Console, waiting
from gen.packages import require

EXAMPLE = "ingather sweep gen/sweep/examples/p4sgd-scaling.toml -o build/scaling.sqlite"
SEARCH = "ingather sweep gen/sweep/examples/p4sgd-search.toml --search 40"

Spec = Annotated[
    Path,
    typer.Argument(metavar="SPEC.toml", help="Read from this file what to sweep and to measure."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Write results into this SQLite file; build/SPEC.sqlite unless given.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Run this many processes; as many as there are cores unless given."),
]
Trials = Annotated[
    int | None,
    typer.Option(
        "--search", metavar="N", min=1, help="Search for the best points, and measure N of them."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, help="Draw and search points with this seed instead of the file's."),
]
Retry = Annotated[
    bool, typer.Option("--retry-failed", help="Try points again that have failed before.")
]


def sweep(
    spec: Spec,
    output: Output = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    search: Trials = None,
    seed: Seed = None,
    retry_failed: Retry = False,
) -> None:
    """Measure many points of a design: counters of the RTL, synthesis, formulas.

    [grid] of the file combines all values of its names, [[zip]] takes them side by side, and
    [derive] computes one setting from others, as in lanes = "512 / banks".

    After an interrupt, or even a kill, the same command goes on where it was. The exit status is 1
    if points failed or are illegal, 2 if none is legal.
    """
    require("sweep", "distributed")
    if search is not None:
        require("sweep --search", "optuna")

    from gen.sweep import sweeping
    from gen.sweep.plan import Plan
    from gen.sweep.search import SearchPlan
    from gen.sweep.spec import naming, read_spec

    console = Console()
    with waiting(console, f"reading {spec}"):
        read, parsed = read_spec(spec, seed)
        with naming(spec):
            plan = Plan(read) if search is None else SearchPlan(read)
            points = plan.points() if search is None else []
    target = output or Path("build", f"{spec.stem}.sqlite")
    where = sweeping.Where(jobs=jobs, scheduler=scheduler)
    if search is not None and isinstance(plan, SearchPlan):
        failed = sweeping.search(plan, parsed, target, where, console, search, retry_failed)
    else:
        failed = sweeping.sweep(plan, points, parsed, target, where, console, retry_failed)
    if failed:
        raise typer.Exit(1)


class DefaultGroup(TyperGroup):
    """Groups commands of which the first may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first command's name in front, unless a command or help is asked for."""
        names = list(self.commands)
        named = args and args[0] in (*names, *ctx.help_option_names)
        return super().parse_args(ctx, args if named else [names[0], *args])


sweep_app = typer.Typer(
    cls=DefaultGroup,
    help="Measure many points of a design, and compare them. `ingather sweep SPEC.toml` is `run`.",
    epilog=f"Example: {EXAMPLE}\n\nExample: {sweep_diff.EXAMPLE}",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
sweep_app.command(
    "run", short_help="Measure the points.", epilog=f"Example: {EXAMPLE}\n\nExample: {SEARCH}"
)(sweep)
sweep_app.command(
    "diff", short_help="Compare two sweeps.", epilog=f"Example: {sweep_diff.EXAMPLE}"
)(sweep_diff.diff)
sweep_app.command(
    "export", short_help="Write the points as a table.", epilog=f"Example: {sweep_export.EXAMPLE}"
)(sweep_export.export)
