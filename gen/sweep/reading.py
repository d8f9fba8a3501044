"""Reads the results of a sweep, for commands that do not change them."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.sweep.spec import flat
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


def bound_settings(spec: Mapping[str, Any], settings: Sequence[str]) -> set[str]:
    """Return those of ``settings`` that follow from others: derived ones, and zipped ones.

    Of the names of a table of [[zip]], the first whose values are all different stays free.
    """
    bound = [name for name, _ in flat(spec.get("derive", {}))]
    tables = spec.get("zip", [])
    for table in [tables] if isinstance(tables, Mapping) else tables:
        values = dict(flat(table))
        free = [n for n, v in values.items() if isinstance(v, Mapping) or len(set(v)) == len(v)]
        bound += [name for name in values if free and name != free[0]]
    exact = {name for name in bound if name in settings}
    last = {name.rpartition(".")[2] for name in bound if name not in exact}
    return exact | {name for name in settings if name.rpartition(".")[2] in last}
