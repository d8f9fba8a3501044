"""Reads Verilator's coverage.dat: how often each point of a simulator's Verilog was reached."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DESIGN = "design.v"  #: the file of a simulator that holds what we emit; the others are models
HEAD = "# SystemC::Coverage-3"
FIELD = "\1{}\2(?P<{}>[^\1]*)"  #: a letter of Verilator's, and what it is to us
RECORD = re.compile(
    "C '"
    + FIELD.format("f", "file")
    + FIELD.format("l", "line")
    + FIELD.format("n", "column")
    + FIELD.format("t", "type")
    + FIELD.format("page", "page")
    + FIELD.format("o", "what")
    + f"(?:{FIELD.format('S', 'lines')})?"
    + FIELD.format("h", "instance")
    + "' (?P<hits>[0-9]+)$"
)
ESCAPE = re.compile(r"__0([0-9a-fA-F]{2})")
TOGGLE = re.compile(r"(?P<signal>.*?)(?:\[(?P<bit>\d+)\])?:(?P<edge>0->1|1->0)$")


class CoverageError(ValueError):
    """Reports a folder of coverage runs that cannot be read: where it is wrong, and why."""


class Toggle(NamedTuple):
    """Identifies a bit of a signal that rises or falls."""

    signal: str
    bit: int
    rises: bool

    @property
    def where(self) -> str:
        """Return the toggle in words."""
        return f"{self.signal}[{self.bit}] {'rises' if self.rises else 'falls'}"


class Place(NamedTuple):
    """Identifies a block of statements, or a side of a branch."""

    line: int
    column: int
    what: str  #: "block", "if", "else", "case" or another word of Verilator's
    lines: str  #: lines that run with it: "134-135", "131,133"; empty: an `else` without statements


class Point(NamedTuple):
    """Holds one line of coverage.dat: a point, and its hits."""

    module: str
    at: Toggle | Place
    hits: int


def read(path: Path) -> Iterator[Point]:
    """Yield the points of the emitted Verilog in ``path``; lines count from the start of design.v.

    Raises CoverageError for a file that is no coverage.dat, or one of a version that is not known.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        if file.readline().rstrip("\n") != HEAD:
            raise CoverageError(f"{path}: no coverage data of Verilator's third format")
        for number, line in enumerate(file, 2):
            try:
                if (result := point(line)) is not None:
                    yield result
            except ValueError as error:
                text = f"{path}:{number}: not a coverage point: {line[:60]!r}"
                raise CoverageError(text) from error


def point(line: str) -> Point | None:
    """Parse a point from its line; return None if it lies outside of the design."""
    result = RECORD.match(line)
    if result is None:
        raise ValueError(line)
    if not result["file"].endswith(DESIGN):
        return None
    kind, _, module = result["page"].partition("/")
    if kind == "v_toggle":
        at = toggle(plain(result["what"]))
    else:
        lines = result["lines"] or ""
        at = Place(int(result["line"]), int(result["column"]), result["what"], lines)
    return Point(plain(module), at, int(result["hits"]))


def toggle(text: str) -> Toggle:
    """Parse a text such as ``level[3]:0->1``; a signal of one bit has bit 0."""
    result = TOGGLE.match(text)
    if result is None:
        raise ValueError(text)
    return Toggle(result["signal"], int(result["bit"] or 0), result["edge"] == "0->1")


def plain(name: str) -> str:
    """Return a name as the Verilog has it: Verilator writes ``__024`` for ``$``."""
    return ESCAPE.sub(lambda result: chr(int(result[1], 16)), name)
