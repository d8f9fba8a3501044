"""Reads the rules of exclusions.toml, which leave points out of coverage, each with a reason."""

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from sim.coverage.data import CoverageError, Place, Toggle

NUMBER = re.compile(r"(?<=.)\$\d+(?=\.|$)")  #: what Amaranth adds to a second signal of a name
REVIEWED = Path(__file__).with_name("exclusions.toml")
FIELDS = ("kind", "component", "what", "reason")  #: every rule has these
CHOICES = ("signal", "from_bit", "to_bit", "nature", "text", "side")  #: a rule has some of these


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Excludes points from the count of the components that it names."""

    kind: Literal["line", "toggle"]
    component: str  #: a pattern with stars: ``hdl.*``, ``hdl.common.fifo.Fifo``
    what: str  #: its name in reports
    reason: str  #: why the points are left out, as reviewed
    signal: str | None = None  #: toggles: the whole name of the signal, as a regular expression
    from_bit: int = 0  #: toggles: this bit and those above it
    to_bit: int | None = None  #: toggles: this bit and those below it
    #: toggles: only bits that no input of the module can change, of nets that have another name, or
    #: wires that nothing in the module reads
    nature: Literal["constant", "again", "unread"] | None = None
    text: str | None = None  #: lines: found in the line of Verilog, as a regular expression
    side: str | None = None  #: lines: Verilator's word for the point, "if" or "else" for example

    @cached_property
    def _signal(self) -> re.Pattern[str]:
        return re.compile(self.signal or ".*")

    @cached_property
    def _text(self) -> re.Pattern[str]:
        return re.compile(self.text or "")

    def is_for(self, component: str) -> bool:
        """Return whether the rule may exclude points of the component."""
        return fnmatchcase(component, self.component)

    def takes_toggle(self, at: Toggle, nature: str | None = None) -> bool:
        """Return whether the rule excludes this toggle, of a bit of this nature."""
        return (
            self.kind == "toggle"
            and self.from_bit <= at.bit
            and (self.to_bit is None or at.bit <= self.to_bit)
            and self.nature in (None, nature)
            and self._signal.fullmatch(NUMBER.sub("", at.signal)) is not None
        )

    def takes_place(self, at: Place, line: str) -> bool:
        """Return whether the rule excludes this place, whose line of Verilog is ``line``."""
        return (
            self.kind == "line"
            and self.side in (None, at.what)
            and self._text.search(line) is not None
        )


def read_rules(path: Path = REVIEWED) -> list[Rule]:
    """Read the rules of a file; raise CoverageError that names what is wrong in it."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("rule", [])
    except tomllib.TOMLDecodeError as error:
        raise CoverageError(f"{path}: {error}") from error
    return [read_rule(table, f"{path}: rule {number}") for number, table in enumerate(tables, 1)]


def read_rule(table: dict[str, Any], where: str) -> Rule:
    """Make a rule from its table."""
    if missing := [name for name in FIELDS if not table.get(name)]:
        raise CoverageError(f"{where}: no {missing[0]}")
    if strange := [name for name in table if name not in FIELDS + CHOICES]:
        raise CoverageError(f"{where}: {strange[0]} is not one of {', '.join(FIELDS + CHOICES)}")
    if table["kind"] not in ("line", "toggle"):
        raise CoverageError(f"{where}: kind is line or toggle: {table['kind']!r}")
    if table.get("nature") not in (None, "constant", "again", "unread"):
        text = f"{where}: nature is constant, again or unread: {table['nature']!r}"
        raise CoverageError(text)
    if table.get("nature") == "unread" and "signal" not in table:
        raise CoverageError(f"{where}: name the signal that nothing reads")
    try:
        for name in ("signal", "text"):
            re.compile(table.get(name, ""))
    except re.error as error:
        raise CoverageError(f"{where}: not a regular expression: {error}") from error
    return Rule(**table)
