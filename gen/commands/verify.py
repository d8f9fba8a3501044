"""Implements ``ingather verify``, which runs the cocotb regression."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gen.base.errors import UserError
from gen.commands.on_cluster import Scheduler, client_of
from gen.output.consoles import Console, waiting
from gen.output.folder import MADE_BY, MANIFEST, NO_ROOM, written_whole
from sim.harness.coverage_runs import COVERAGE, COVERAGE_RUNS
from sim.harness.environment import changed

if TYPE_CHECKING:
    from sim.verify.regression import Options, Outcome

NEEDED = ("pytest", "xdist", "pytest_timeout", "junitparser", "hypothesis")
MISSING = "verify needs {}: pip install 'ingather[verify]'"

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Run the tests of designs of `ingather list`, of components such as"
        " hdl.p4sgd.engine.bank, or at paths under tests; all that simulate if none is named.",
    ),
]
Seed = Annotated[
    str, typer.Option(metavar="N", help="Use this as the first seed, or draw it with 'random'.")
]
Seeds = Annotated[
    int, typer.Option(min=1, metavar="N", help="Run every test on this many consecutive seeds.")
]
Filter = Annotated[
    str,
    typer.Option(
        "--filter", metavar="EXPR", help="Run only tests whose names match, as pytest's -k does."
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, help="Run this many tests at a time; as many as there are cores unless given."
    ),
]
Timeout = Annotated[
    float,
    typer.Option(min=1, metavar="S", help="End a test that takes longer than this many seconds."),
]
Waves = Annotated[bool, typer.Option("--waves", help="Write a waveform of every simulation.")]
Coverage = Annotated[
    bool, typer.Option("--coverage", help="Measure coverage, and fail below its thresholds.")
]
Investigate = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Run this many failed tests again, with waves, to explain them."
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Write reports into this folder.")]


def verify(
    names: Names = None,
    seeds: Seeds = 1,
    seed: Seed = "1",
    keyword: Filter = "",
    jobs: Jobs = None,
    timeout: Timeout = 900,
    waves: Waves = False,
    coverage: Coverage = False,
    investigate: Investigate = 5,
    output: Output = Path("build/verify"),
    scheduler: Scheduler = None,
) -> None:
    """Run the cocotb regression: every test that simulates, on each seed; exit 1 if one fails."""
    from gen.verify.targets import checkout_of, targets
    from sim.harness.build_tools import require_compiler
    from sim.harness.cache import cache_root

    if scheduler and (waves or coverage):
        raise UserError("--waves and --coverage stay where tests run: leave out --scheduler")
    root = checkout_of(names or [])
    chosen = targets(root, names or [])
    check_installed()
    require_compiler()
    from sim.verify.regression import Options, verify_json
    from sim.verify.seeds import seeds_from

    options = Options(
        root=root,
        targets=chosen,
        seeds=seeds_from(first_of(seed), seeds),
        keyword=checked_filter(keyword),
        jobs=jobs or os.cpu_count() or 1,
        timeout=timeout,
        waves=waves,
        durations=cache_root() / "durations.json",
    )
    console, started = Console(), datetime.now(UTC)
    with written_whole(output) as folder, surroundings(folder, coverage):
        with client_of("verify", scheduler) as client:
            if client is not None:
                options = replace(options, jobs=len(client.nthreads()))
            outcome, seconds = run(options, console, client)
        check_outcome(options, outcome)
        look_into(outcome, folder, investigate, console)
        measured, trouble = measure(folder, options, outcome) if coverage else (None, "")
        content = verify_json(options, outcome, started, seconds)
        write(folder, content, outcome, measured)
    finish(console, output, content, outcome, measured, trouble)


def check_installed() -> None:
    """Raise UserError unless all that the regression needs is installed."""
    for name in NEEDED:
        if find_spec(name) is None:
            raise UserError(MISSING.format(name))


def first_of(seed: str) -> str:
    """Return the seed as the user gave it; raise UserError if it is not a seed."""
    from sim.verify.seeds import checked_seed

    try:
        return checked_seed(seed)
    except ValueError as error:
        raise UserError(f"--seed {seed}: a number from 0 to 2147483647, or 'random'") from error


def checked_filter(keyword: str) -> str:
    """Return the expression for pytest's -k; raise UserError if it is not one."""
    from _pytest.mark.expression import Expression

    try:
        Expression.compile(keyword)
    except SyntaxError as error:
        raise UserError(f"--filter {keyword!r}: {error}") from error
    return keyword


def surroundings(folder: Path, coverage: bool) -> AbstractContextManager[None]:
    """Let simulations measure coverage and leave it in ``folder``, if ``coverage``."""
    chosen = {COVERAGE: "1", COVERAGE_RUNS: str(folder / "coverage-runs")}
    return changed(chosen if coverage else {})


def run(options: "Options", console: Console, client: Any = None) -> "tuple[Outcome, float]":
    """Run the regression behind its progress; return the outcome and how long it took.

    It runs on the cluster of ``client``, if there is one.
    """
    from gen.verify.console import Progress
    from sim.verify.elsewhere import run_elsewhere
    from sim.verify.order import read_durations, write_durations
    from sim.verify.regression import run_regression

    console.print(
        f"seeds {', '.join(map(str, options.seeds))}; {options.jobs} items at a time",
    )
    start = time.monotonic()
    with Progress(console, options.jobs, read_durations(options.durations)) as progress:
        if client is None:
            outcome = run_regression(options, progress)
        else:
            outcome = run_elsewhere(client, options, progress)
    seconds = time.monotonic() - start
    ended = {item.test: item.seconds for item in outcome.items if item.outcome == "passed"}
    write_durations(options.durations, ended)
    return outcome, seconds


def check_outcome(options: "Options", outcome: "Outcome") -> None:
    """Raise UserError if no test could run, or one had no room on a disk."""
    if outcome.trouble:
        raise UserError(outcome.trouble)
    if not outcome.items and not outcome.interrupted:
        named = f" and matches {options.keyword!r}" if options.keyword else ""
        raise UserError(f"no test that simulates is in {', '.join(options.targets)}{named}")
    full = [*map(os.strerror, NO_ROOM), "SIGXFSZ"]
    for item in outcome.items:
        if not item.good and any(words in item.message for words in full):
            raise UserError(f"{item.test}: {item.message}")


def look_into(outcome: "Outcome", folder: Path, most: int, console: Console) -> None:
    """Explain what failed; ``most`` failures run again for it, but not after an interrupt."""
    from gen.verify.failures import explain

    most = 0 if outcome.interrupted else most
    with waiting(console, "looking into failures") as update:
        try:
            outcome.items = explain(outcome.items, folder, most, update)
        except KeyboardInterrupt:
            outcome.interrupted = True
            outcome.items = explain(outcome.items, folder, 0, update)


def measure(
    folder: Path, options: "Options", outcome: "Outcome"
) -> tuple[dict[str, Any] | None, str]:
    """Write the coverage report; return the content of coverage.json, or why there is none.

    There is none after an interrupt: no further process may be started, and the shares of a part
    of the tests would say nothing of the design.
    """
    from sim.coverage.data import CoverageError
    from sim.coverage.files import write as write_coverage
    from sim.coverage.merge import is_within
    from sim.functional.merge import survey

    coverage_runs = folder / "coverage-runs"
    coverage_runs.mkdir(exist_ok=True)
    if outcome.interrupted:
        shutil.rmtree(coverage_runs)
        return None, "it needs a whole run"
    components = components_of(options.targets)
    result = survey(coverage_runs)
    bins = {unit: hits for unit, hits in result.bins.items() if is_within(unit, components)}
    try:
        measured = write_coverage(
            coverage_runs,
            components,
            folder,
            bins=bins,
            exclusions=result.exclusions,
            false=result.false,
        )
    except CoverageError as error:
        return None, str(error)
    finally:
        shutil.rmtree(coverage_runs)
    return measured, ""


def components_of(targets: Sequence[str]) -> list[str]:
    """Return the packages and modules of hdl that the tests mirror; all of hdl if none is named."""
    paths = [Path(target.partition("::")[0]) for target in targets]
    mirrored = [path.relative_to("tests") for path in paths if path.is_relative_to("tests/hdl")]
    named = [path.with_name(path.stem.removeprefix("test_")) for path in mirrored]
    return [".".join(path.parts) for path in named] or ["hdl"]


def write(
    folder: Path,
    content: Mapping[str, Any],
    outcome: "Outcome",
    measured: Mapping[str, Any] | None,
) -> None:
    """Write all files except those that coverage and the failures have left there."""
    from gen.verify.page import page
    from sim.verify.junit import junit

    (folder / "verify.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "junit.xml").write_text(junit(outcome.items))
    (folder / "index.html").write_text(page(content, measured))
    present = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {str(path.relative_to(folder)): hashed(path) for path in present}
    manifest = {"made_by": MADE_BY, "command": "verify", "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def hashed(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finish(
    console: Console,
    output: Path,
    content: Mapping[str, Any],
    outcome: "Outcome",
    measured: Mapping[str, Any] | None,
    trouble: str,
) -> None:
    """Print the outcome and exit with its status; ``trouble`` says why coverage has no report."""
    from gen.verify.failures import show
    from sim.verify.items import counts

    show(console, outcome.items, output)
    below = list(measured["below"]) if measured else []
    for line in below:
        console.print(f"coverage: {line}", style="red")
    reported = ", ".join(f"{count} {name}" for name, count in counts(outcome.items).items())
    simulated = f"{content['simulation_seconds']:.0f} s of simulation in {content['seconds']:.0f} s"
    console.print(f"{reported or 'no item had ended'}; {simulated}")
    console.print(f"{output / 'index.html'}, junit.xml and verify.json")
    if outcome.interrupted:
        lacking = f"; no coverage: {trouble}" if trouble else ""
        raise KeyboardInterrupt(f"what had ended is in the reports{lacking}")
    if trouble:
        raise UserError(f"no coverage: {trouble}")
    if below or not all(item.good for item in outcome.items):
        raise typer.Exit(1)
