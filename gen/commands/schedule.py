"""Implements ``ingather schedule``, which schedules jobs that share switches."""

import tempfile
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from gen.base.errors import UserError
from gen.commands import pcap
from gen.commands.options import options_of, parameter, requested_from, with_options
from gen.commands.run import write_json
from gen.output.consoles import Console, waiting
from gen.output.folder import MADE_BY, MANIFEST, check_target, write_file, written_whole
from hdl.common.core_clock import CORE_MHZ
from sim.mina.workload import ScheduleWorkload

HERE = Path(__file__).parent
PAGE, RTL = "index.html", "rtl.json"
RECORD = typer.Option(
    "--record",
    metavar="FILE",
    help="Write the patterns of all jobs, as the runtime records them on switches in hardware, for"
    " --jobs.",
)


def command() -> Any:
    """Return the function of the command, whose options are the fields of its workload."""
    output = typer.Option("-o", "--output", help="Write the results into this folder.")
    options = [
        *options_of(ScheduleWorkload),
        parameter("output", Path, Path("build/schedule"), output),
        parameter("pcap", Path | None, None, pcap.OPTION),
        parameter("record", Path | None, None, RECORD),
    ]
    built = with_options(execute, options)
    built.__doc__ = "Schedule jobs on a cluster with in-network aggregation (INA); simulate them."
    return built


def execute(values: Mapping[str, Any]) -> None:
    """Schedule the jobs, and write tables, pictures and page."""
    output, capture, record = values["output"], values["pcap"], values["record"]
    check_target(output)
    for target in (capture, record):
        pcap.check_target(target, output)
    if capture is not None and not values["rtl"]:
        raise UserError("--pcap needs links of RTL: --rtl simulates some")
    if record is not None and not values["rtl"]:
        raise UserError("--record needs jobs on switches in hardware: --rtl runs some")
    try:
        requested = ScheduleWorkload(**requested_from(ScheduleWorkload, values))
        provided = requested.job_list()
        on_switches = scaled_of(requested, provided)
    except ValueError as error:
        raise UserError(str(error)) from error
    from sim.mina.bound import bound_of
    from sim.mina.files import LOGGED, UNDEFINED, job_rows, summary_of, write_files
    from sim.mina.pictures import draw_all
    from sim.mina.schedule import schedule

    console = Console()
    with written_whole(output) as folder:
        with waiting(console, f"scheduling {len(provided.jobs):,} jobs"):
            result = schedule(requested, provided, LOGGED)
            began = time.perf_counter()
            bound = bound_of(result)
            bound_s = time.perf_counter() - began
        agreement = None
        if requested.rtl:
            agreement = compare_with_switches(on_switches, console, capture, record)
        notes = [line_of(agreement), rates_of(agreement)] if agreement is not None else []
        if agreement is not None and record is not None:
            notes.append(recorded_line(agreement, requested, record))
        files = write_files(folder, result, bound, bound_s)
        with waiting(console, "drawing"):
            pictures = draw_all(folder, result)
            summary = summary_of(result, bound, bound_s)
            page = page_of(summary, notes, list(job_rows(result)), folder, pictures)
            (folder / PAGE).write_text(page, encoding="utf-8")
        files = [PAGE, *files, *pictures]
        if agreement is not None:
            write_json(folder / RTL, agreement.as_json())
            files.append(RTL)
        write_json(folder / MANIFEST, {"made_by": MADE_BY, "command": "schedule", "files": files})
    for name, value in tiles_of(summary).items():
        console.print(f"{name:28} {value}")
    for line in warnings_of(summary):
        console.print(f"warning: {line}", style="yellow")
    if result.score is None:
        console.print(f"the score is {UNDEFINED}: INA is of no use to any of these jobs")
    console.print(f"wrote {output}: {', '.join(files)}")
    for line in notes:
        console.print(line)
    if agreement is not None and not agreement.holds:
        raise typer.Exit(1)


def scaled_of(requested: ScheduleWorkload, provided: Any) -> Any:
    """Return the jobs at the scale of switches in hardware, if these are asked for.

    ValueError for jobs or a cluster that are not simulated in hardware.
    """
    if not requested.rtl:
        return None
    from sim.mina.rtl.comparison import scaled

    return scaled(requested, provided)


def compare_with_switches(
    on_switches: Any, console: Console, capture: Path | None, record: Path | None
) -> Any:
    """Return how switches in hardware and the simulator agree on the jobs.

    What the switches' links carry is written to ``capture``, if there is one, and the jobs'
    patterns to ``record``.
    """
    from sim.harness.captures import CAPTURES
    from sim.harness.environment import changed
    from sim.mina.rtl.comparison import RECORDING, compare

    text = "running the jobs on switches in hardware, which are built once (minutes)"
    with (
        tempfile.TemporaryDirectory(prefix="ingather-rtl-") as scratch,
        pcap.captured(Path(scratch), capture, console),
        changed({CAPTURES: "1"} if capture is not None else {}),
        waiting(console, text),
    ):
        result = compare(on_switches, Path(scratch))
        if record is not None:
            write_file(record, (Path(scratch) / RECORDING).read_bytes())
        return result


def line_of(agreement: Any) -> str:
    """Return what came of the comparison with switches in hardware."""
    order = "in the same order"
    if agreement.differs_at is not None:
        order = f"NOT in the same order, from grant {agreement.differs_at + 1} on"
    return (
        f"on switches in hardware: {agreement.grants:,} grants {order};"
        f" {agreement.steps:,} steps differ by at most {agreement.worst_step:.2%}"
        f" ({agreement.cycles:,} cycles; INA takes {agreement.latency_cycles:.0f} cycles and"
        f" {agreement.frame_cycles:.2f} for each frame)"
    )


def recorded_line(agreement: Any, requested: ScheduleWorkload, record: Path) -> str:
    """Return what was recorded, and the options that describe the network it was recorded on."""
    return (
        f"recorded the jobs' patterns in {record}, in seconds of these switches:"
        f" --bandwidth {agreement.rate / requested.ratio:.6g} --ratio {requested.ratio:g}"
        f" --latency {agreement.latency_cycles / (CORE_MHZ * 1e6):.3g} --jobs {record} schedules"
        " them on the same network"
    )


def rates_of(agreement: Any) -> str:
    """Return how fast INA is in hardware beside what the schedule assumes, and what would be so."""
    own, assumed, plain = (
        rate / 1e9 for rate in (agreement.rate, agreement.assumed_rate, agreement.plain_rate)
    )
    text = (
        f"INA moves {own:.2f} GB/s on these switches at {CORE_MHZ} MHz, and the schedule assumes"
        f" {assumed:.2f}, and {plain:.2f} without INA:"
    )
    if own <= plain:
        return f"{text} here INA only delays jobs, and --sharing never is the best schedule"
    return f"{text} --ratio {own / plain:.3g} is what these switches do"


def tiles_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the most important figures, which stand at the top of the page."""

    def text(value: Any) -> str:
        return value if isinstance(value, str) else f"{value:.4f}"

    return {
        "score, weighted by hosts": text(summary["score"]),
        "score of the mean time": text(summary["mean_score"]),
        "bound on this placement": text(summary["bound"]),
        "INA use, weighted by hosts": text(summary["utilisation"]),
        "INA use of the mean job": text(summary["mean_utilisation"]),
        "jobs": f"{summary['jobs']:,}",
        "jobs that INA can help": f"{summary['jobs_that_can_gain']:,}",
        "seconds until the last end": f"{summary['end']:,.3f}",
        "hosts in use": f"{summary['hosts_in_use']:.1%}",
        "migrations a job": f"{summary['migrations_per_job']:.2f}",
        "seconds of computing": f"{sum(summary['seconds_by_phase'].values()):.2f}",
    }


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """Return warnings that a reader must see first."""
    late = summary["programs_at_time_limit"]
    text = f"{late:,} integer programs ended at their time limit: their trees may not be the best"
    return [text] * bool(late)


def page_of(
    summary: Mapping[str, Any],
    notes: Sequence[str],
    rows: list[Mapping[str, Any]],
    folder: Path,
    pictures: Mapping[str, str],
) -> str:
    """Return the page that shows figures, with ``notes`` below them, pictures and jobs."""
    from markupsafe import Markup

    from gen.page.page import Section, environment, render

    template = environment(HERE).get_template("schedule.html.j2")

    images = {name: b64encode((folder / name).read_bytes()).decode() for name in pictures}

    def section(title: str, **provided: Any) -> Any:
        return Section(title, template.render(title=title, **provided))

    return render(
        "Jobs on a shared cluster",
        [
            section(
                "Figures",
                part="figures",
                tiles=tiles_of(summary),
                warnings=warnings_of(summary),
                notes=notes,
                settings=summary["workload"],
            ),
            *(
                section(title, part="picture", data=Markup(images[name]))
                for name, title in pictures.items()
            ),
            section("Jobs", part="jobs", rows=rows),
        ],
        clocks_mhz=(),
    )


schedule = command()
