"""Reads the file that ``make evidence`` writes in a card's package: parts of Vivado's reports, and
the estimate of the same build.

The file is text. A line ``== name`` begins each part, and the last line counts the lines before it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.synth.synthesis import Synthesis
from gen.synth.vivado import Utilization, read_report, utilization_of
from gen.synth.vivado_timing import VivadoTiming, timing_of

HEAD = "ingather evidence "
FORMAT = "1"  #: of the files that can be read
#: parts that are shown as they are, with their titles
FINDINGS = {
    "check_timing": "check_timing",
    "clock_crossings": "findings on clock crossings",
    "methodology": "findings on methodology",
    "messages": "messages of the runs",
}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Holds what the file has of a build; what Vivado has not reported is left out."""

    package: Mapping[str, Any]  #: design, preset, settings and versions, as generated
    vivado: str  #: its version
    synthesis: Synthesis | None  #: the estimate, if one was made
    utilization: tuple[Utilization, ...]
    timing: VivadoTiming | None
    clocks: Mapping[str, str]  #: Vivado's name of each clock of the card
    findings: Mapping[str, tuple[str, ...]]  #: lines by titles of FINDINGS, those with 0 left out


def read_evidence(path: Path) -> Evidence:
    """Read a file; raise UserError, in a line, if it is none, of another format, or damaged."""
    parts = parts_of(read_report(path), path)
    try:
        package = json.loads(parts["package"])
        estimate = package.pop("estimate")
        synthesis = Synthesis.of(estimate) if estimate else None
        vivado = parts["vivado"].strip()
        clocks = dict(line.split() for line in parts.get("card_clocks", "").splitlines())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {type(error).__name__}, {error}") from error
    return Evidence(
        package=package,
        vivado=vivado,
        synthesis=synthesis,
        utilization=tuple(
            utilization_of(parts[name], f"{path}, {name}")
            for name in ("utilization", "utilization_hierarchical")
            if name in parts
        ),
        timing=timing_of(parts["timing"], path) if "timing" in parts else None,
        clocks=clocks,
        findings={
            title: result_in(parts[name]) for name, title in FINDINGS.items() if name in parts
        },
    )


def result_in(part: str) -> tuple[str, ...]:
    """Return the lines of a part once each, without those that count 0."""
    return tuple(dict.fromkeys(line for line in part.splitlines() if line and line[-3:] != "(0)"))


def parts_of(text: str, path: Path) -> dict[str, str]:
    """Return the parts of a file by name."""
    lines = text.splitlines()
    if not text.startswith(HEAD):
        raise UserError(
            f"{path} is no evidence of a build: it does not begin with {HEAD.strip()!r}"
        )
    if (result := lines[0].removeprefix(HEAD)) != FORMAT:
        raise UserError(f"{path} has format {result[:20]}; this version reads format {FORMAT}")
    if lines[-1] != f"== end {len(lines) - 1}":
        raise UserError(f"{path} is damaged: it does not end with the number of its lines")
    pieces = re.split(r"^== ", "\n".join(lines[1:-1]) + "\n", flags=re.M)[1:]
    return {name: body for name, _, body in (piece.partition("\n") for piece in pieces)}
