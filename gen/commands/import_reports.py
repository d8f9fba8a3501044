"""Implements ``ingather import-reports``, which compares Vivado's reports with the estimate."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gen.base.errors import UserError
from gen.commands.generate import Preset, Settings
from gen.commands.synth import Jobs, JsonFile, check_json_file, choose, estimate, write_json
from gen.designs.catalogue import find_design


def import_reports(
    design: Annotated[
        str,
        typer.Argument(
            metavar="DESIGN|FILE",
            help="Compare with the estimate of this design, which Vivado has built; or read this"
            " file, which `make evidence` has written in a card's package.",
        ),
    ],
    utilization: Annotated[
        list[Path] | None,
        typer.Option(
            help="Read this output of Vivado's report_utilization, -hierarchical or not; may be"
            " repeated. A design needs it."
        ),
    ] = None,
    timing: Annotated[
        Path | None, typer.Option(help="Read this output of Vivado's report_timing_summary.")
    ] = None,
    preset: Preset = None,
    settings: Settings = None,
    json_file: JsonFile = None,
    jobs: Jobs = None,
) -> None:
    """Put what Vivado reports beside the estimate: modules, total, and clock by clock."""
    check_json_file(json_file)
    if Path(design).suffix or Path(design).is_file():
        if utilization or timing or preset or settings:
            raise UserError(f"{design} is a file, which has its design and reports: no option fits")
        show_evidence(Path(design), json_file)
    elif not utilization:
        find_design(design)
        raise UserError(f"design {design} needs --utilization FILE, Vivado's report")
    else:
        compare_reports(design, utilization, timing, preset, settings, json_file, jobs)


def compare_reports(
    design: str,
    utilization: list[Path],
    timing: Path | None,
    preset: str | None,
    settings: list[str] | None,
    json_file: str | None,
    jobs: int | None,
) -> None:
    """Compare reports that are files of their own with an estimate that is made now."""
    chosen, preset, params = choose(design, preset, settings)

    from gen.synth.comparison import comparison_report, describe
    from gen.synth.report import console
    from gen.synth.vivado import read_utilization
    from gen.synth.vivado_timing import read_timing

    # Reports are read first: a wrong file should not cost the time of an estimate.
    reports = [read_utilization(path) for path in utilization]
    result = read_timing(timing) if timing else None
    _, synthesis = estimate(chosen.make(params), design, jobs)
    files = ", ".join(map(str, utilization))
    rows, total = compare_modules(synthesis, reports, design, files)
    if json_file != "-":
        console().print(comparison_report(rows, total, synthesis.depth, result))
    if json_file is not None:
        content = describe(rows, total, result.describe() if result else None)
        write_json(json_file, {"design": design, "preset": preset, **content})


def compare_modules(synthesis: Any, reports: Any, design: str, files: object) -> tuple[Any, Any]:
    """Return the comparison of each module and of the total; raise UserError if none is known."""
    from gen.synth.comparison import compare, compare_totals

    instances = [placed for report in reports for placed in report.instances]
    rows = compare(synthesis, instances)
    if instances and not rows:
        raise UserError(
            f"no module of {design} is in {files}; its top is"
            f" {synthesis.top.name}: were the preset and settings others?"
        )
    return rows, compare_totals(synthesis, rows, reports)


def show_evidence(path: Path, json_file: str | None) -> None:
    """Compare what a file of evidence has of Vivado's reports with the estimate in it."""
    from gen.synth.clock_comparison import compare_clocks, evidence_report
    from gen.synth.comparison import describe
    from gen.synth.evidence import read_evidence
    from gen.synth.report import console

    evidence = read_evidence(path)
    rows, total, clocks = [], None, []
    if evidence.synthesis is not None:
        built = evidence.package["design"]
        rows, total = compare_modules(evidence.synthesis, evidence.utilization, built, path)
        if evidence.timing is not None:
            clocks = compare_clocks(evidence.synthesis.clocks, evidence.timing, evidence.clocks)
    if json_file != "-":
        console().print(evidence_report(evidence, rows, total, clocks))
    if json_file is not None:
        content = describe(rows, total, evidence.timing.describe() if evidence.timing else None)
        compared = {"clocks": [row.describe() for row in clocks], "findings": evidence.findings}
        write_json(
            json_file, {**evidence.package, "vivado": evidence.vivado, **content, **compared}
        )
