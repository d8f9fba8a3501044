"""Reads the tables of Vivado's reports: columns between bars, rows between lines of dashes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gen.base.errors import UserError

RULE = re.compile(r"\s*\+(-+\+)+\s*")


@dataclass(frozen=True, kw_only=True)
class BoxedTable:
    """Holds a table of a report."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]  #: line in the file, cells; indents are kept


def read_report(path: Path) -> str:
    """Return the text of a report; raise UserError if there is none."""
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def tables_of(text: str) -> Iterator[BoxedTable]:
    """Yield all tables of a report, in order: rule, header, rule, rows, rule."""
    header: tuple[str, ...] | None = None
    rows: list[tuple[int, tuple[str, ...]]] = []
    rules = 0
    for number, line in enumerate(text.splitlines(), 1):
        if RULE.fullmatch(line):
            rules += 1
        elif rules and line.lstrip().startswith("|"):
            cells = tuple(cell.rstrip() for cell in line.strip().strip("|").split("|"))
            if header is None:
                header = tuple(cell.strip() for cell in cells)
            else:
                rows.append((number, cells))
        else:
            if header is not None:
                yield BoxedTable(header=header, rows=tuple(rows))
            header, rows, rules = None, [], 0
    if header is not None:
        yield BoxedTable(header=header, rows=tuple(rows))


def amount(cell: str, path: Path, line: int) -> float:
    """Parse a number, with or without a percentage; raise UserError if the cell has none."""
    number = re.match(r"\s*(\d+(\.\d+)?)", cell)
    if number is None:
        raise UserError(f"{path}, line {line}: {cell.strip()!r} is no amount")
    return float(number[1])
