"""Keeps the results of a sweep in an SQLite file: a row a point, written by one process.

Others may read while it is written. A process that is killed loses nothing that was written.
"""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.output.folder import check_above

Value = int | float | str | bool

FORMAT = "1"
SCHEMA = """
create table if not exists meta (name text primary key, value text not null);
create table if not exists points (
    number integer primary key autoincrement,
    key text not null unique,
    member integer not null,
    design text not null,
    parameters text not null,
    workload text not null,
    status text not null,
    metrics text not null default '{}',
    error text not null default '',
    log text not null default '',
    seconds real not null default 0,
    attempts integer not null default 0
);
create table if not exists trials (number integer primary key, key text not null, given text);
"""
COLUMNS = "key, design, parameters, workload, status, metrics, error, log, seconds, attempts"
#: SQLite's words where a disk is full: in writing, in making room in its index, in synchronising
FULL = ("database or disk is full", "disk I/O error")


@dataclass(frozen=True, kw_only=True)
class PointRow:
    """Holds a point as the file stores it."""

    key: str  #: hash of all that decides the point's metrics
    design: str
    parameters: dict[str, Value]  #: parameters of the hardware, all of them
    workload: dict[str, Value]  #: what the hardware does, all of it
    status: str  #: waiting, running, done or failed
    metrics: dict[str, float]
    error: str  #: why the point failed, in a line
    log: str  #: what was printed in the last attempt
    seconds: float  #: time of the last attempt, without building
    attempts: int


class Store:
    """Reads the file of a sweep, and writes it if it was made by :meth:`writing`."""

    tried = False  #: whether a point was begun, or failed at once, since this object was made

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise UserError(f"there is no file {path}")
        self.path = path
        self.connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
        )
        self.check_format()

    @classmethod
    @contextmanager
    def writing(cls, path: Path) -> Iterator["Store"]:
        """Open the file as the one process that writes it; make it if it is not there.

        UserError if another writes it, if it is something else, or if the disk is full. A file
        that was made is taken away again if no point was tried.
        """
        with only_writer(path), readable_errors(path):
            store = cls.__new__(cls)
            store.path = path
            new = not path.stat().st_size
            store.connection = sqlite3.connect(path, isolation_level=None)
            try:
                if not new:
                    store.check_format()
                store.connection.execute("pragma journal_mode = wal")
                store.connection.executescript(SCHEMA)
                store.set_meta("format", FORMAT)
                yield store
            except (UserError, OSError, sqlite3.Error):
                if new and not store.tried:
                    for end in ("", "-wal", "-shm"):
                        path.with_name(path.name + end).unlink(missing_ok=True)
                raise
            finally:
                store.connection.close()

    def check_format(self) -> None:
        """Raise UserError unless this is the file of a sweep."""
        try:
            result = self.meta("format")
        except sqlite3.DatabaseError as error:
            raise UserError(f"{self.path} is not the results of a sweep: {error}") from error
        if result != FORMAT:
            raise UserError(f"{self.path} has format {result}, not {FORMAT}")

    def meta(self, name: str) -> str | None:
        """Return the value of a fact about the whole file."""
        row = self.connection.execute("select value from meta where name = ?", (name,)).fetchone()
        return row and row[0]

    def set_meta(self, name: str, value: str) -> None:
        """Keep a fact about the whole file."""
        if self.meta(name) != value:
            self.connection.execute("insert or replace into meta values (?, ?)", (name, value))

    def spec(self) -> dict[str, Any]:
        """Return the specification, as it was parsed from TOML."""
        return json.loads(self.meta("spec") or "{}")

    def points(self) -> list[PointRow]:
        """Return the points of the latest specification, in its order."""
        rows = self.connection.execute(
            f"select {COLUMNS} from points where member order by member, number"
        )
        return [to_point(row) for row in rows]

    def find(self, key: str) -> PointRow | None:
        """Return the point of that key, of whatever specification."""
        row = self.connection.execute(f"select {COLUMNS} from points where key = ?", (key,))
        result = row.fetchone()
        return None if result is None else to_point(result)

    def begin(self, spec: Mapping[str, Any], identity: str) -> None:
        """Make ``spec`` the latest; unless ``identity`` is the same, it has no points yet.

        What a process that was killed had under way waits again.
        """
        with self.transaction():
            if self.meta("identity") != identity:
                self.connection.execute("update points set member = 0")
                self.connection.execute("delete from trials")
            self.set_meta("identity", identity)
            self.set_meta("spec", json.dumps(spec))
            self.connection.execute("update points set status = 'waiting' where status = 'running'")

    def add(self, points: Iterable[PointRow]) -> None:
        """Make ``points`` those of the latest specification, in this order behind the others.

        A point that is there keeps what is known of it.
        """
        with self.transaction():
            last = self.connection.execute("select max(member) from points").fetchone()[0] or 0
            for place, point in enumerate(points, last + 1):
                self.connection.execute(
                    "insert into points (key, member, design, parameters, workload, status, error)"
                    " values (?, ?, ?, ?, ?, ?, ?) on conflict (key) do update set member ="
                    " case when member then member else excluded.member end",
                    (
                        point.key,
                        place,
                        point.design,
                        json.dumps(point.parameters),
                        json.dumps(point.workload),
                        point.status,
                        point.error,
                    ),
                )

    def started(self, key: str) -> None:
        """Note that an attempt at a point begins."""
        self.tried = True
        self.connection.execute(
            "update points set status = 'running', attempts = attempts + 1 where key = ?", (key,)
        )

    def done(self, key: str, metrics: Mapping[str, float], seconds: float) -> None:
        """Note that a point has been measured, with its metrics."""
        self.connection.execute(
            "update points set status = 'done', metrics = ?, seconds = ?, error = '', log = ''"
            " where key = ?",
            (json.dumps(metrics), seconds, key),
        )

    def failed(self, key: str, error: str, log: str = "", seconds: float = 0.0) -> None:
        """Note that a point cannot be measured, and why."""
        self.tried = True
        self.connection.execute(
            "update points set status = 'failed', error = ?, log = ?, seconds = ? where key = ?",
            (error, log, seconds, key),
        )

    def forget_failures(self, keys: Sequence[str]) -> None:
        """Let those of ``keys`` that failed wait again, as if never tried."""
        with self.transaction():
            self.connection.executemany(
                "update points set status = 'waiting', error = '', log = '', attempts = 0,"
                " seconds = 0 where status = 'failed' and key = ?",
                [(key,) for key in keys],
            )

    def trials(self) -> list[tuple[str, dict[str, Value]]]:
        """Return what a search has asked for, in order: keys of points, and the values chosen."""
        rows = self.connection.execute("select key, given from trials order by number")
        return [(key, json.loads(provided)) for key, provided in rows]

    def add_trials(self, trials: Sequence[tuple[str, Mapping[str, Value]]]) -> None:
        """Keep the points that a search asks for."""
        with self.transaction():
            self.connection.executemany(
                "insert into trials (key, given) values (?, ?)",
                [(key, json.dumps(provided)) for key, provided in trials],
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that the block writes, or nothing."""
        self.connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise
        self.connection.execute("commit")


def to_point(row: Sequence[Any]) -> PointRow:
    """Make a point from a row of COLUMNS."""
    key, design, parameters, workload, status, metrics, error, log, seconds, attempts = row
    return PointRow(
        key=key,
        design=design,
        parameters=json.loads(parameters),
        workload=json.loads(workload),
        status=status,
        metrics=json.loads(metrics),
        error=error,
        log=log,
        seconds=seconds,
        attempts=attempts,
    )


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Be the only process that writes ``path``; UserError if there is another.

    The lock is on the file itself, of another kind than SQLite's own; the system lets go of it
    when the process dies.
    """
    check_above(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UserError(
            f"another sweep writes {path} at this time: wait for its end, or choose another file"
            f" with -o"
        ) from error
    finally:
        os.close(file)


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Say in a line what SQLite cannot do to the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if any(words in str(error) for words in FULL):
            raise UserError(
                f"cannot write {path}: {error} (is there room?); what is finished is kept, and"
                f" the same command goes on from there"
            ) from error
        raise UserError(f"cannot write {path}: {error}") from error
