"""Implements ``ingather train``, ``spmm`` and every other run that a design's descriptor names."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from gen.base.errors import UserError
from gen.base.settings import make_params, parse_settings
from gen.commands import pcap, waves
from gen.commands.on_cluster import client_of
from gen.commands.options import (
    options_of,
    parameter,
    requested_from,
    shortcuts_of,
    unused,
    with_options,
)
from gen.designs.design import Design, Run, load
from gen.output.consoles import Console, bar, lines, waiting
from gen.output.folder import MADE_BY, MANIFEST, check_target, written_whole

RESULT = "result.json"
FORMAT = 3  #: version of the format of a result
PARTS_ON_CLUSTER = typer.Option(
    metavar="tcp://HOST:PORT",
    help="Run each node or worker, and each switch, as a process on a worker of this Dask"
    " scheduler, as many at a time on each as --processes says, or one. The result is the same.",
)
BUILDING = "building the simulator (once for this hardware; minutes for large ones)"


def command_of(design: Design, run: Run) -> Any:
    """Return the function of the run's command, whose options are the fields of its workload."""
    workload = load(run.workload) if run.workload else run.session_class.workload
    presets = ", ".join(design.presets)
    options = [
        *options_of(workload),
        parameter(
            "output",
            Path,
            Path("build", run.command),
            typer.Option("-o", "--output", help="Write the results into this folder."),
        ),
        parameter(
            "preset",
            str,
            run.preset or design.preset,
            typer.Option(help=f"Build this preset of the hardware: {presets}."),
        ),
        parameter(
            "settings",
            list[str] | None,
            None,
            typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the hardware."),
        ),
        parameter("waves", bool, False, typer.Option("--waves", help=waves.HELP)),
        *([parameter("pcap", Path | None, None, pcap.OPTION)] if run.links else []),
        *([parameter("scheduler", str | None, None, PARTS_ON_CLUSTER)] if run.cut else []),
        *shortcuts_of(design.params, run.shortcuts),
    ]
    built = with_options(lambda values: execute(design, run, values), options)
    built.__doc__ = run.about
    return built


def execute(design: Design, run: Run, values: Mapping[str, Any]) -> None:
    """Do the run that the command line asks for; exit 1 if it differs from the golden model."""
    changes: dict[str, Any] = dict(parse_settings(values["settings"] or []))
    changes |= {name: values[name] for name in run.shortcuts if values[name] is not None}
    session_class, preset = run.session_class, values["preset"]
    output, capture = values["output"], values.get("pcap")
    check_target(output)
    pcap.check_target(capture, output)
    console = Console()
    try:
        requested = session_class.workload(**requested_from(session_class.workload, values))
        changes = {**session_class.needs(requested), **changes}  # the user's are the last
        params = make_params(design.params_class, design.settings_of(preset), changes)
        with waiting(console, "reading the data"), warnings.catch_warnings(record=True) as said:
            session = session_class(params, requested)
    except ValueError as error:
        raise UserError(str(error)) from error
    notes = [str(each.message) for each in said]
    for note in notes:
        console.print(f"note: {note}")
    with (
        written_whole(output) as folder,
        waves.workplace(run.command) as scratch,
        placed(session, run.command, values.get("scheduler")),
    ):
        with pcap.captured(scratch, capture, console):
            result, stop = simulate(session, console, scratch, values["waves"], capture is not None)
        files = [RESULT, *session.write(folder), *waves.taken(scratch, folder)]
        content = result_json(design, run, preset, session, result)
        write_json(folder / RESULT, content | {"notes": notes, "unfinished": stop is not None})
        write_json(folder / MANIFEST, {"made_by": MADE_BY, "command": run.command, "files": files})
    for line in session.summary(result):
        console.print(line)
    if not result.difference:
        console.print(result.verdict)
    for warning in (*result.warnings, *unused(requested)):
        console.print(f"warning: {warning}", style="yellow")
    console.print(f"wrote {output}: {', '.join(files)}")
    if waves.SAVE in files:
        console.print(f"waves: gtkwave {output / waves.SAVE}")
    if result.difference:
        console.print(f"NOT what it must be: {result.difference}", style="red")
        raise typer.Exit(1)
    if stop is not None:
        stop.add_note(f"what had ended is in {output}")
        raise stop


@contextmanager
def placed(session: Any, command: str, scheduler: str | None) -> Iterator[None]:
    """Let a session simulate on the workers of a Dask cluster, if ``scheduler`` is given.

    Raises UserError if it is not cut into parts, or if the cluster cannot do the work.
    """
    if scheduler is None:
        yield
        return
    from sim.cluster.placing import PlacedParts

    try:
        session.check_parts()
    except ValueError as error:
        raise UserError(str(error)) from error
    with client_of(command, scheduler) as client:
        session.workers = PlacedParts(client)
        yield


def simulate(
    session: Any, console: Console, scratch: Path, with_waves: bool, with_frames: bool
) -> tuple[Any, KeyboardInterrupt | None]:
    """Build the simulator and run the session in ``scratch``, behind a line of progress.

    It returns the result. ``with_waves`` leaves a waveform in ``scratch``, ``with_frames`` what the
    links carried.

    Interrupted, it returns that of what had ended, and the interrupt.
    """
    from sim.harness.captures import CAPTURES
    from sim.harness.environment import changed
    from sim.harness.session import Listener
    from sim.harness.verilate import WAVES

    for line in session.about():
        console.print(line)
    traced = {WAVES: "1"} if with_waves else {}
    traced |= {CAPTURES: "1"} if with_frames else {}
    try:
        with waiting(console, BUILDING), changed(traced):
            simulator = session.simulator()
    except KeyboardInterrupt as stop:
        stop.add_note("parts of the simulator that are finished stay in the cache")
        raise
    if with_waves:
        waves.check(simulator)
    if with_frames:
        pcap.check(simulator)
    with bar(console) as progress, lines(console, "simulating") as report:
        task = progress.add_task("starting", total=None)

        class Show(Listener):
            """Prints a session's lines on the console, above the bar of progress."""

            def line(self, text: str) -> None:
                progress.console.print(text)

            def progress(
                self, text: str, done: int | None = None, total: int | None = None
            ) -> None:
                progress.update(task, description=text, completed=done, total=total)
                report(text if total is None else f"{text}: {done:,} of {total:,}")

        try:
            return session.run(simulator, scratch, Show()), None
        except KeyboardInterrupt as stop:
            if (ended := session.unfinished()) is None:
                raise
            return ended, stop


def result_json(design: Design, run: Run, preset: str, session: Any, result: Any) -> dict[str, Any]:
    """Return everything that is known of a run, fit for JSON."""
    return {
        "format": FORMAT,
        "made_by": MADE_BY,
        "command": run.command,
        "design": design.name,
        "preset": preset,
        "title": session.title,
        "workload": session.settings,
        "hardware": asdict(session.params),
        "exact": result.exact,
        "verdict": result.verdict,
        "warnings": list(result.warnings),
        "figures": dict(result.figures),
        "curves": {name: dict(curve) for name, curve in result.curves.items()},
        **result.details,
    }


def write_json(path: Path, content: Any) -> None:
    """Write ``content`` into a file as readable JSON."""
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
