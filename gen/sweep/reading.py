"""Reads the results of a sweep, for commands that do not change them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.sweep.store import PointRow, Store, Value

SQLITE = b"SQLite format 3\0"  #: every database begins with it


@dataclass(frozen=True, kw_only=True)
class Results:
    """Holds what a store contains at one moment."""

    spec: Mapping[str, Any]  #: the specification, as parsed
    points: tuple[PointRow, ...]


def read_results(path: Path) -> Results:
    """Read the file of a sweep; raise UserError if it is none, or is damaged."""
    check_database(path)
    try:
        store = Store(path)
        return Results(spec=store.spec(), points=tuple(store.points()))
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def check_database(path: Path) -> None:
    """Raise UserError unless there is such a file, and it begins as SQLite's do."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not the file of a sweep")
    try:
        with path.open("rb") as file:
            head = file.read(len(SQLITE))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if head != SQLITE:
        raise UserError(f"{path} is {'no SQLite file' if head else 'empty'}, not that of a sweep")


def settings_of(point: PointRow) -> dict[str, Value]:
    """Return parameters and workload as one; names in both get ``workload.`` in front."""
    both = point.parameters.keys() & point.workload.keys()
    workload = {f"workload.{n}" if n in both else n: v for n, v in point.workload.items()}
    return {**point.parameters, **workload}
