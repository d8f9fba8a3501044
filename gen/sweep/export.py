"""Writes the points of a sweep as a table, a row a point, or draws them, by a file's suffix."""

import csv
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.output.folder import check_file
from gen.packages import require
from gen.sweep.fronts import write_png
from gen.sweep.reading import settings_of
from gen.sweep.store import PointRow

Columns = Mapping[str, Sequence[Any]]


def columns(
    points: Sequence[PointRow], metrics: Sequence[str] | None = None
) -> dict[str, list[Any]]:
    """Return the table's columns by name; None stands where a point has no value.

    A metric that has the name of a setting is called ``metric.NAME``, and so on. All metrics of the
    points have columns, or those that are named.
    """
    settings = [settings_of(point) for point in points]
    parts: list[tuple[str, list[Mapping[str, Any]]]] = [
        ("design", [{"design": point.design} for point in points]),
        ("setting", [*settings]),
        ("status", [{"status": point.status} for point in points]),
        ("metric", [{n: p.metrics.get(n) for n in metrics or p.metrics} for p in points]),
        (
            "effort",
            [{n: getattr(p, n) for n in ("error", "seconds", "attempts", "key")} for p in points],
        ),
    ]
    table: dict[str, list[Any]] = {}
    for kind, rows in parts:
        for name in dict.fromkeys(name for row in rows for name in row):
            column = f"{kind}.{name}" if name in table else name
            table[column] = [row.get(name) for row in rows]
    return table


def write_csv(table: Columns, path: Path) -> None:
    """Write CSV with a line of names; a missing value is empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


def write_parquet(table: Columns, path: Path) -> None:
    """Write typed columns; a column whose values are of several types becomes text.

    Raises UserError if pyarrow is missing.
    """
    require("sweep export to Parquet", "pyarrow")
    import pyarrow
    from pyarrow import parquet

    typed = {name: of_one_type(values) for name, values in table.items()}
    parquet.write_table(pyarrow.table(typed), path)


def of_one_type(values: Sequence[Any]) -> list[Any]:
    """Return values of one type: floats if all are numbers, text if they are mixed."""
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1:
        return list(values)
    convert = float if types == {int, float} else str
    return [None if value is None else convert(value) for value in values]


#: by the file's suffix; one that leaves points out returns how many it has
WRITERS: dict[str, Callable[[Columns, Path], int | None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".png": write_png,
}


def writer_for(path: Path) -> Callable[[Columns, Path], int | None]:
    """Return the writer for a file's suffix; raise UserError if none fits, or none can write."""
    if path.suffix.lower() not in WRITERS:
        raise UserError(f"{path.name} is to end in one of {', '.join(WRITERS)}")
    check_file(path)
    return WRITERS[path.suffix.lower()]


def export(points: Sequence[PointRow], path: Path, requested: Sequence[str] = ()) -> int:
    """Write a table of ``points``, whole or not at all, or draw the metrics ``requested``.

    Returns how many of the points are in the file. Raises UserError if that cannot be.
    """
    write = writer_for(path)
    part: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        os.close(handle)
        part = Path(name)
        drawn = write(columns(points, requested if write is write_png else None), part)
        part.chmod(0o644)
        part.replace(path)
        return len(points) if drawn is None else drawn
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
