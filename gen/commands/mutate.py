"""Implements ``ingather mutate``, which breaks the RTL and sees whether tests notice."""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gen.base.errors import UserError, unknown
from gen.commands.mutate_planted import PLANTED, try_planted
from gen.commands.on_cluster import Scheduler, client_of
from gen.output.consoles import Console, Table, bar, lines, print_wide
from gen.output.folder import check_above, write_file

SUMMARY = "mutate.json"
PARTS = "components"
LISTS = "ingather mutate --list"
HERE = Path(__file__).parent

Components = Annotated[
    list[str] | None,
    typer.Argument(
        help="Break these components: classes, modules or packages; all of hdl if none is named."
    ),
]
Listed = Annotated[
    bool, typer.Option("--list", help="List what the components can be called, and end.")
]
Sample = Annotated[
    int,
    typer.Option(
        min=1, max=10000, help="Try this many mutants of data with each seed, beside the control's."
    ),
]
Control = Annotated[
    int | None,
    typer.Option(min=1, help="Try at most this many mutants of control; all if it is not given."),
]
Seed = Annotated[int, typer.Option(min=0, help="Choose mutants and run tests with this seed.")]
Seeds = Annotated[
    int, typer.Option(min=1, max=100, help="Use this many consecutive seeds, from --seed on.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Examine this many components at a time.")]
MaxSeconds = Annotated[
    float,
    typer.Option(min=0.1, help="Leave out tests whose simulation takes more seconds than this."),
]
Planted = Annotated[
    bool,
    typer.Option(
        "--planted", help="Try planted mistakes of engineers instead: edits of the source, listed."
    ),
]
Folder = Annotated[Path, typer.Option("-o", "--output", help="Write results into this folder.")]
Resume = Annotated[
    bool, typer.Option(help="Keep the results of components whose sources have not changed.")
]


def mutate(
    components: Components = None,
    sample: Sample = 50,
    control: Control = None,
    seed: Seed = 1,
    seeds: Seeds = 3,
    jobs: Jobs = 1,
    most_seconds: MaxSeconds = 60,
    output: Folder = Path("build/mutate"),
    resume: Resume = True,
    planted: Planted = False,
    scheduler: Scheduler = None,
    listed: Listed = False,
) -> None:
    """Break the RTL in many small ways, and see whether its tests notice."""
    from sim.harness.build_tools import require_compiler
    from sim.mutation.campaign import Plan
    from sim.mutation.summary import below, idle, read_reasons, score, union

    targets = choose(components or [])
    if listed:
        typer.echo("\n".join(callable_names({target.name: target for target in targets})))
        return
    require_compiler()
    check_folder(output)
    if planted:
        with client_of("mutate", scheduler) as client:
            try_planted(targets, seed, client or ThreadPoolExecutor(jobs), output)
        return
    plans = [
        Plan(
            sample=sample,
            seed=item,
            most_seconds=most_seconds,
            **({} if control is None else {"control": control}),
        )
        for item in range(seed, seed + seeds)
    ]
    with client_of("mutate", scheduler) as client:
        examined = examine_all(targets, plans, output, client or ThreadPoolExecutor(jobs), resume)
    of_seeds = [
        kept_of_others(targets, output, plan) | results
        for plan, results in zip(plans, examined, strict=True)
    ]
    names = set.intersection(*map(set, of_seeds))
    results = {name: union([item[name] for item in of_seeds]) for name in names}
    try:
        reasons = read_reasons()
    except ValueError as error:
        raise UserError(str(error)) from error
    scores = [score(results[name], reasons) for name in sorted(results)]
    write(output, plans, results, scores)
    show(scores, output)
    for reason in idle(reasons, results.values()):
        entry = f"{reason.component}: {reason.mutant or reason.like}"
        typer.echo(f"note: no survivor of this run is in survivors.toml's entry {entry}")
    if lines := below(scores):
        raise UserError(f"{len(lines)} of {len(scores)} components fall short: {'; '.join(lines)}")


def choose(names: Sequence[str]) -> list[Any]:
    """Return the targets called ``names``, or all; raise UserError for an unknown name."""
    from sim.mutation.targets import all_targets, is_called

    targets = all_targets()
    if not targets:
        raise UserError("mutants are tried in a checkout of the sources, where the tests are")
    chosen = {}
    for name in names or ["hdl"]:
        expected = {path: target for path, target in targets.items() if is_called(path, name)}
        if not expected:
            raise unknown("component", name, callable_names(targets), LISTS)
        chosen |= expected
    return [chosen[path] for path in sorted(chosen)]


def callable_names(paths: Mapping[str, Any]) -> list[str]:
    """Return the packages, modules and classes of the components at ``paths``; the widest first."""
    names = {path.rpartition(".")[2] for path in paths}
    for path in paths:
        parts = path.split(".")
        names |= {".".join(parts[:count]) for count in range(2, len(parts))}
    return sorted(names, key=lambda name: ("." not in name, name.count("."), name))


def check_folder(folder: Path) -> None:
    """Raise UserError unless ``folder`` is new, empty, or was written by this command."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is not a folder")
    present = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if present and not present & {SUMMARY, PARTS, PLANTED}:
        raise UserError(f"{folder} is not empty and was not made by ingather; choose another")
    check_above(folder / PARTS)
    (folder / PARTS).mkdir(parents=True, exist_ok=True)


def examine_all(
    targets: Sequence[Any], plans: Sequence[Any], output: Path, where: Any, resume: bool
) -> list[dict[str, dict[str, Any]]]:
    """Return the results of each plan, by name of the target, with progress on standard error.

    ``where`` is an executor or a client of a cluster, which examines several at a time.
    """
    from sim.cluster.dispatch import each, listen, tell
    from sim.mutation.worker import examine_target

    results: list[dict[str, dict[str, Any]]] = [{} for _ in plans]
    waiting = []
    for stored, plan in zip(results, plans, strict=True):
        for target in targets:
            result = keep(output, target, plan) if resume else None
            if result is None:
                waiting.append((target.name, plan))
            else:
                stored[target.name] = result
    console, total = Console(stderr=True), len(targets) * len(plans)
    with (
        bar(console) as progress,
        lines(console, f"mutants of {len(targets)} components") as report,
    ):
        task = progress.add_task("mutants", total=total, completed=total - len(waiting))

        def show(name: str, text: str) -> None:
            name = name.rpartition(".")[2]
            progress.update(task, description=f"{name}: {text}"[:60])
            report(f"{name}: {text}")

        listener = (
            show if isinstance(where, ThreadPoolExecutor) else partial(tell, listen(where, show))
        )
        try:
            for (target, plan), result in each(where, examine_target, waiting, listener):
                write_file(part_of(output, target, plan), json.dumps(result, indent=1) + "\n")
                results[plans.index(plan)][target] = result
                progress.advance(task)
        except KeyboardInterrupt as stop:
            stop.add_note(
                f"components that had ended are in {output}; the same command goes on there"
            )
            raise
    return results


def part_of(output: Path, name: str, plan: Any) -> Path:
    """Return the path of the file for one component and one seed."""
    return output / PARTS / f"{name}.{plan.seed}.json"


def keep(output: Path, target: Any, plan: Any) -> dict[str, Any] | None:
    """Return the kept result of ``target`` if it is valid: same plan, same sources, no error."""
    try:
        result = json.loads(part_of(output, target.name, plan).read_text())
        right = result["key"] == plan.key(target) and not result["error"]
        return result if right else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def kept_of_others(targets: Sequence[Any], output: Path, plan: Any) -> dict[str, dict[str, Any]]:
    """Return valid results in the folder of components that were not asked for."""
    others = [target for target in choose([]) if target not in targets]
    stored = {target.name: keep(output, target, plan) for target in others}
    return {name: result for name, result in stored.items() if result is not None}


def write(
    output: Path,
    plans: Sequence[Any],
    results: Mapping[str, Mapping[str, Any]],
    scores: Iterable[Any],
) -> None:
    """Write the summary and the page of all results."""
    from sim.mutation.summary import LEAST, below

    scores = list(scores)
    content = {
        "format": 2,
        "made_by": "ingather",
        "command": "mutate",
        "plan": {**asdict(plans[0]), "seeds": len(plans)},
        "least": LEAST,
        "components": [
            {
                **{name: value for name, value in asdict(item).items() if name != "survivors"},
                "percent": rounded(item.percent),
                "percents": {name: rounded(share.percent) for name, share in item.groups.items()},
                "tests": results[item.component]["tests"],
                "sizes": results[item.component]["sizes"],
                "survivors": [dict(survivor) for survivor in item.survivors],
            }
            for item in scores
        ],
        "below": below(scores),
    }
    write_file(output / SUMMARY, json.dumps(content, indent=1) + "\n")
    write_file(output / "index.html", page(content))


def rounded(percent: float | None) -> float | None:
    """Return a per cent with one decimal, if it is one."""
    return None if percent is None else round(percent, 1)


def reported(percent: float | None) -> str:
    """Return a per cent as text."""
    return "-" if percent is None else f"{percent:.0f} %"


def page(content: Mapping[str, Any]) -> str:
    """Return the page of HTML: scores, and the survivors with their reasons."""
    from gen.page.page import Section, environment, render

    template = environment(HERE).get_template("mutate.html.j2")
    sections = [
        Section(title, template.render(part=part, **content))
        for part, title in (("scores", "Scores"), ("survivors", "Survivors"))
    ]
    return render("Mutation test", sections)


def show(scores: Sequence[Any], output: Path) -> None:
    """Print the table, unexplained survivors, and where the rest is."""
    from sim.mutation.mutants import GROUPS

    console = Console()
    table = Table(box=None, pad_edge=False)
    table.add_column("component", no_wrap=True)
    for name in ("mutants", "found", "equal", "left", "excluded", *GROUPS, "s"):
        table.add_column(name, justify="right")
    for item in scores:
        table.add_row(
            item.component.removeprefix("hdl."),
            str(item.mutants),
            str(item.detected),
            str(item.equivalent),
            str(len(item.survivors)),
            str(item.excluded),
            *(reported(item.groups[group].percent) for group in GROUPS),
            f"{item.seconds:.0f}",
        )
    print_wide(console, table)
    for item in scores:
        for survivor in item.survivors:
            if not survivor["reason"]:
                console.print(f"not explained: {survivor['mutant']}")
    console.print(f"{output / 'index.html'}")
