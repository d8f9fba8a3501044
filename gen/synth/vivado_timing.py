"""Reads Vivado's report_timing_summary: how far a design is from its clocks."""

import re
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.synth.vivado_tables import read_report

NUMBER = r"-?\d+\.\d+"
SUMMARY = re.compile(
    rf"^\s*WNS\(ns\)\s+TNS\(ns\)[^\n]*\n[\s-]+\n\s*(?P<wns>{NUMBER})\s+(?P<tns>{NUMBER})", re.M
)
PATH = re.compile(
    rf"^Slack\s*\(\w+\)\s*:\s*(?P<slack>{NUMBER})ns.*?"
    r"^\s*Source:\s*(?P<source>\S+).*?"
    r"^\s*Destination:\s*(?P<destination>\S+).*?"
    r"^\s*Path Type:\s*(?P<type>\w+).*?"
    r"^\s*Logic Levels:\s*(?P<levels>\d+)(\s*\((?P<cells>[^)\n]*)\))?",
    re.M | re.S,
)


@dataclass(frozen=True, kw_only=True)
class VivadoTiming:
    """Holds the worst setup slack, and the path that has it."""

    wns: float  #: worst slack, ns; negative if the clock is missed
    tns: float  #: sum of all negative slacks, ns
    source: str  #: where the worst path starts
    destination: str
    levels: int | None  #: cells on it, LUTs and CARRY8 alike; None without any path
    cells: str  #: the same by kind

    def describe(self) -> dict[str, Any]:
        """Return the timing as an object of JSON."""
        return asdict(self)


def read_timing(path: Path) -> VivadoTiming:
    """Read a report of timing; raise UserError if the file is none."""
    text = read_report(path)
    summary = SUMMARY.search(text)
    if summary is None:
        raise UserError(
            f"{path} is no timing summary: it has no line of amounts under WNS(ns) and TNS(ns)"
        )
    # A path must not be read into the next one.
    starts = [match.start() for match in re.finditer(r"^Slack\b", text, re.M)] + [len(text)]
    found = [PATH.match(text[at:end]) for at, end in pairwise(starts)]
    setup = [path for path in found if path is not None and path["type"] == "Setup"]
    worst = min(setup, key=lambda path: float(path["slack"]), default=None)
    return VivadoTiming(
        wns=float(summary["wns"]),
        tns=float(summary["tns"]),
        source=worst["source"] if worst else "",
        destination=worst["destination"] if worst else "",
        levels=int(worst["levels"]) if worst else None,
        cells=(worst["cells"] or "").strip() if worst else "",
    )
