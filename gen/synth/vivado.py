"""Reads what Vivado reports of a design: report_utilization and report_timing_summary.

What is read comes from a file, or is a part of one: ``where`` names it in what is wrong with it.

The first is that of a whole design, or that by hierarchy. Its tables have columns between bars, and
rows between lines of dashes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gen.base.errors import UserError
from gen.synth.resources import Resources

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


def amount(cell: str, where: object, line: int) -> float:
    """Parse a number, with or without a percentage; raise UserError if the cell has none."""
    number = re.match(r"\s*(\d+(\.\d+)?)", cell)
    if number is None:
        raise UserError(f"{where}, line {line}: {cell.strip()!r} is no amount")
    return float(number[1])


#: maps a column of the table by hierarchy to a field, and how many of it one is
COLUMNS = {
    "Logic LUTs": ("lut", 1),
    "LUTRAMs": ("lutram", 1),
    "SRLs": ("lutram", 1),
    "FFs": ("ff", 1),
    "RAMB36": ("bram18", 2),
    "RAMB18": ("bram18", 1),
    "URAM": ("uram", 1),
    "DSP Blocks": ("dsp", 1),
    "DSP48 Blocks": ("dsp", 1),
}
#: maps a row of the tables of a whole design to the same
ROWS = {
    "LUT as Logic": ("lut", 1),
    "LUT as Memory": ("lutram", 1),
    "CLB Registers": ("ff", 1),
    "CARRY8": ("carry", 1),
    "Block RAM Tile": ("bram18", 2),
    "URAM": ("uram", 1),
    "DSPs": ("dsp", 1),
}
NEEDED = ("Instance", "Module", "Total LUTs", "FFs")


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Describes an instance of a module as Vivado counts it, with everything below it."""

    path: str  #: names of the instances from the top down, with / between them
    module: str  #: Vivado may have put a number behind its name
    use: Resources  #: without carry, which is not told by hierarchy


@dataclass(frozen=True, kw_only=True)
class Utilization:
    """Holds the amounts that a report of utilization gives, in all or by instance."""

    total: Resources | None = None
    instances: tuple[Placed, ...] = ()


def read_utilization(path: Path) -> Utilization:
    """Read either kind of report of utilization; raise UserError if the file is neither."""
    return utilization_of(read_report(path), path)


def utilization_of(text: str, where: object) -> Utilization:
    """Return what either kind of report of utilization says; raise UserError if it is neither."""
    result: dict[str, float] = {}
    instances: list[Placed] = []
    for table in tables_of(text):
        if set(NEEDED) <= set(table.header):
            instances += by_hierarchy(table, where)
        elif table.header[:2] == ("Site Type", "Used"):
            for line, cells in table.rows:
                name = cells[0].strip().rstrip("*")
                if name in ROWS and name not in result:
                    result[name] = amount(second(cells, where, line), where, line)
    if instances:
        return Utilization(instances=tuple(instances))
    if {"LUT as Logic", "CLB Registers"} <= set(result):
        return Utilization(total=gathered({name: (ROWS[name], n) for name, n in result.items()}))
    raise UserError(
        f"{where} is no utilization report: it has neither the table by hierarchy"
        f" (Instance, Module, Total LUTs, ...) nor the rows LUT as Logic and CLB Registers"
    )


def second(cells: tuple[str, ...], where: object, line: int) -> str:
    """Read the amount in the second column of a row."""
    if len(cells) < 2:
        raise UserError(f"{where}, line {line}: the row ends before its amount")
    return cells[1]


def gathered(result: Mapping[str, tuple[tuple[str, int], float]]) -> Resources:
    """Add up amounts under Vivado's names as resources."""
    amounts: dict[str, int] = {}
    for (kind, times), number in result.values():
        amounts[kind] = amounts.get(kind, 0) + round(times * number)
    return Resources(**amounts)


def by_hierarchy(table: BoxedTable, where: object) -> list[Placed]:
    """Return a table's rows as instances below the nearest one indented less, except ``(name)``."""
    placed: list[Placed] = []
    above: list[tuple[int, str]] = []  # indent, instance
    for line, cells in table.rows:
        if len(cells) != len(table.header):
            raise UserError(
                f"{where}, line {line}: {len(cells)} columns where there are {len(table.header)}"
            )
        row = dict(zip(table.header, cells, strict=True))
        name = row["Instance"].strip()
        if name.startswith("("):
            continue
        indent = len(row["Instance"]) - len(row["Instance"].lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, name))
        result = {c: (COLUMNS[c], amount(row[c], where, line)) for c in row if c in COLUMNS}
        module = row["Module"].strip()
        path = "/".join(instance for _, instance in above)
        placed.append(Placed(path=path, module=module, use=gathered(result)))
    return placed
