"""``ingather import-reports``."""

from pathlib import Path
from typing import Annotated

import typer

from gen.catalogue import find_design
from gen.errors import UserError
from gen.settings import make_params, parse_settings
from gen.synth_command import check_json_file, estimate, write_json


def import_reports(
    design: Annotated[str, typer.Argument(help="The design that Vivado has built.")],
    utilization: Annotated[
        list[Path],
        typer.Option(help="report_utilization of Vivado, -hierarchical or not; may be repeated."),
    ],
    timing: Annotated[Path | None, typer.Option(help="report_timing_summary of Vivado.")] = None,
    preset: Annotated[str | None, typer.Option(help="A named set of parameters.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter.")
    ] = None,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write figures; - is stdout.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Modules at a time; as many as cores.")
    ] = None,
) -> None:
    """Put what Vivado reports beside the estimate, module by module and in total."""
    chosen = find_design(design)
    preset = chosen.preset if preset is None else preset
    params = make_params(
        chosen.params_class, chosen.settings_of(preset), parse_settings(settings or [])
    )
    check_json_file(json_file)

    from gen.synth.beside import beside, describe, total_beside
    from gen.synth.beside_report import beside_report
    from gen.synth.report import console
    from gen.synth.vivado_timing import read_timing
    from gen.synth.vivado_utilization import read_utilization

    # Reports are read first: a wrong file should not cost the time of an estimate.
    reports = [read_utilization(path) for path in utilization]
    found = read_timing(timing) if timing else None
    synthesis = estimate(chosen.make(params), design, jobs)
    instances = [placed for report in reports for placed in report.instances]
    rows = beside(synthesis, instances)
    if instances and not rows:
        raise UserError(
            f"no module of {design} is in {', '.join(map(str, utilization))}; its top is"
            f" {synthesis.top.name}: were the preset and settings others?"
        )
    total = total_beside(synthesis, rows, reports)
    if json_file != "-":
        console().print(beside_report(rows, total, synthesis.depth, found))
    if json_file is not None:
        content = describe(rows, total, found.describe() if found else None)
        write_json(json_file, {"design": design, "preset": preset, **content})
