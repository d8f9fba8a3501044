"""Reads Vivado's report_utilization: that of a whole design, or that by hierarchy."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gen.base.errors import UserError
from gen.synth.resources import Resources
from gen.synth.vivado_tables import BoxedTable, amount, read_report, tables_of

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
    found: dict[str, float] = {}
    instances: list[Placed] = []
    for table in tables_of(read_report(path)):
        if set(NEEDED) <= set(table.header):
            instances += by_hierarchy(table, path)
        elif table.header[:2] == ("Site Type", "Used"):
            for line, cells in table.rows:
                name = cells[0].strip().rstrip("*")
                if name in ROWS and name not in found:
                    found[name] = amount(second(cells, path, line), path, line)
    if instances:
        return Utilization(instances=tuple(instances))
    if {"LUT as Logic", "CLB Registers"} <= set(found):
        return Utilization(total=gathered({name: (ROWS[name], n) for name, n in found.items()}))
    raise UserError(
        f"{path} is no utilization report: it has neither the table by hierarchy"
        f" (Instance, Module, Total LUTs, ...) nor the rows LUT as Logic and CLB Registers"
    )


def second(cells: tuple[str, ...], path: Path, line: int) -> str:
    """Read the amount in the second column of a row."""
    if len(cells) < 2:
        raise UserError(f"{path}, line {line}: the row ends before its amount")
    return cells[1]


def gathered(found: Mapping[str, tuple[tuple[str, int], float]]) -> Resources:
    """Add up amounts under Vivado's names as resources."""
    amounts: dict[str, int] = {}
    for (kind, times), number in found.values():
        amounts[kind] = amounts.get(kind, 0) + round(times * number)
    return Resources(**amounts)


def by_hierarchy(table: BoxedTable, path: Path) -> list[Placed]:
    """Return a table's rows as instances below the nearest one indented less, except ``(name)``."""
    placed: list[Placed] = []
    above: list[tuple[int, str]] = []  # indent, instance
    for line, cells in table.rows:
        if len(cells) != len(table.header):
            raise UserError(
                f"{path}, line {line}: {len(cells)} columns where there are {len(table.header)}"
            )
        row = dict(zip(table.header, cells, strict=True))
        name = row["Instance"].strip()
        if name.startswith("("):
            continue
        indent = len(row["Instance"]) - len(row["Instance"].lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, name))
        found = {c: (COLUMNS[c], amount(row[c], path, line)) for c in row if c in COLUMNS}
        module = row["Module"].strip()
        path_ = "/".join(instance for _, instance in above)
        placed.append(Placed(path=path_, module=module, use=gathered(found)))
    return placed
