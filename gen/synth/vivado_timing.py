"""Reads Vivado's report_timing_summary: the slack of the whole design and of each clock, and the
worst path for setup of either.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.synth.vivado import read_report

NUMBER = r"-?\d+\.\d+"
SUMMARY = re.compile(
    rf"^\s*WNS\(ns\)\s+TNS\(ns\)[^\n]*\n[\s-]+\n\s*(?P<wns>{NUMBER})\s+(?P<tns>{NUMBER})", re.M
)
#: the table of paths that begin and end at one clock, and its rows with slack and failing endpoints
INTRA = re.compile(r"^\| Intra Clock Table\n(?:\| -+\n)?(.*?)(?=^\||^Slack|\Z)", re.M | re.S)
ROW = re.compile(rf"^ *(\S+) +({NUMBER}) +{NUMBER} +(\d+) +\d+ +{NUMBER} ", re.M)
FIELD = re.compile(
    r"^ *(Source|Destination|Path Type|Data Path Delay|Logic Levels): *(.*?) *$", re.M
)


@dataclass(frozen=True, kw_only=True)
class VivadoPath:
    """Holds a path for setup."""

    slack: float  #: ns
    source: str  #: where it starts
    destination: str
    clock: str  #: clock at both ends; empty if they differ or are not known
    delay: float | None  #: of cells and wires between both ends, ns
    levels: int  #: cells on it, LUTs and CARRY8 alike
    cells: str  #: the same by kind


@dataclass(frozen=True, kw_only=True)
class VivadoClock:
    """Holds the paths that begin and end at a clock."""

    wns: float  #: worst slack, ns
    failing: int  #: number of ends of paths that miss it
    path: VivadoPath | None  #: the worst one, if the report has it


@dataclass(frozen=True, kw_only=True)
class VivadoTiming:
    """Holds the worst setup slack, and the path that has it."""

    wns: float  #: worst slack, ns; negative if the clock is missed
    tns: float  #: sum of all negative slacks, ns
    path: VivadoPath | None  #: the worst one; None without any path
    clocks: Mapping[str, VivadoClock] = field(default_factory=dict)  #: by Vivado's names

    def describe(self) -> dict[str, Any]:
        """Return the timing as an object of JSON."""
        return asdict(self)


def read_timing(path: Path) -> VivadoTiming:
    """Read a report of timing; raise UserError if the file is none."""
    return timing_of(read_report(path), path)


def timing_of(text: str, where: object) -> VivadoTiming:
    """Return what a report of timing says; raise UserError if it is none."""
    summary = SUMMARY.search(text)
    if summary is None:
        raise UserError(
            f"{where} is no timing summary: it has no line of amounts under WNS(ns) and TNS(ns)"
        )
    paths = sorted(setup_paths(text), key=lambda path: path.slack)
    worst = {path.clock: path for path in reversed(paths)}
    rows = ROW.findall("".join(INTRA.findall(text)))
    return VivadoTiming(
        wns=float(summary["wns"]),
        tns=float(summary["tns"]),
        path=next(iter(paths), None),
        clocks={
            name: VivadoClock(wns=float(wns), failing=int(failing), path=worst.get(name))
            for name, wns, failing in rows
        },
    )


def setup_paths(text: str) -> Iterator[VivadoPath]:
    """Yield all paths for setup of which the report says everything."""
    # A path must not be read into the next one.
    starts = [match.start() for match in re.finditer(r"^Slack\b", text, re.M)] + [len(text)]
    for at, end in pairwise(starts):
        slack = re.match(rf"Slack\s*\(\w+\)\s*:\s*({NUMBER})ns", text[at:end])
        said = dict(FIELD.findall(text[at:end]))
        levels = re.match(r"(\d+)\s*(?:\((.*)\))?", said.get("Logic Levels", ""))
        if slack is None or levels is None or not said.get("Path Type", "").startswith("Setup"):
            continue
        clocks = set(re.findall(r"clocked by (\S+)", text[at:end]))
        delay = re.match(NUMBER, said.get("Data Path Delay", ""))
        yield VivadoPath(
            slack=float(slack[1]),
            source=said["Source"],
            destination=said["Destination"],
            clock=clocks.pop() if len(clocks) == 1 else "",
            delay=float(delay[0]) if delay else None,
            levels=int(levels[1]),
            cells=(levels[2] or "").strip(),
        )
