"""Implements ``ingather import-reports``, which compares Vivado's reports with the estimate."""

from pathlib import Path
from typing import Annotated

import typer

from gen.base.errors import UserError
from gen.commands.synth import (
    Changes,
    Jobs,
    JsonFile,
    Preset,
    check_json_file,
    choose,
    estimate,
    write_json,
)


def import_reports(
    design: Annotated[
        str,
        typer.Argument(help="Compare with the estimate of this design, which Vivado has built."),
    ],
    utilization: Annotated[
        list[Path],
        typer.Option(
            help="Read this output of Vivado's report_utilization, -hierarchical or not; may be"
            " repeated."
        ),
    ],
    timing: Annotated[
        Path | None, typer.Option(help="Read this output of Vivado's report_timing_summary.")
    ] = None,
    preset: Preset = None,
    settings: Changes = None,
    json_file: JsonFile = None,
    jobs: Jobs = None,
) -> None:
    """Put what Vivado reports beside the estimate, module by module and in total."""
    chosen, preset, params = choose(design, preset, settings)
    check_json_file(json_file)

    from gen.synth.comparison import compare, compare_totals, comparison_report, describe
    from gen.synth.report import console
    from gen.synth.vivado import read_timing, read_utilization

    # Reports are read first: a wrong file should not cost the time of an estimate.
    reports = [read_utilization(path) for path in utilization]
    found = read_timing(timing) if timing else None
    _, synthesis = estimate(chosen.make(params), design, jobs)
    instances = [placed for report in reports for placed in report.instances]
    rows = compare(synthesis, instances)
    if instances and not rows:
        raise UserError(
            f"no module of {design} is in {', '.join(map(str, utilization))}; its top is"
            f" {synthesis.top.name}: were the preset and settings others?"
        )
    total = compare_totals(synthesis, rows, reports)
    if json_file != "-":
        console().print(comparison_report(rows, total, synthesis.depth, found))
    if json_file is not None:
        content = describe(rows, total, found.describe() if found else None)
        write_json(json_file, {"design": design, "preset": preset, **content})
