"""Lists what the cache holds, and makes it smaller beside running work.

An entry is removed under the lock by which :func:`sim.harness.cache.cached_folder` makes and finds
it, so that nobody is given a folder that is about to go. What was asked for within the last hour
stays: a simulation may be starting from it.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.harness.cache import cache_root

HOUR = 3600.0
PARTS = {"captures": "captured"}  #: kind -> the folder where more of its entries lies
#: lists folders of the cache that can be made again, and what an entry of each is
KINDS: Mapping[str, str] = {
    "sim": "simulators",
    "blocks": "blocks of simulators",
    "runtime": "libraries of simulators",
    "modules": "emitted modules",
    "lint": "designs without a warning",
    "model": "compiled models",
    "nets": "nets for coverage",
    "captures": "simulations for mutants",
    "outcomes": "runs of reproductions, and documents of registers",
    "synth": "estimates",
    "sweep/builds": "simulators of sweeps",
    "sweep/synth": "estimates of sweeps",
    "runs": "logs and waves of runs",
    "scratch": "work under way",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Describes a folder of the cache."""

    kind: str
    path: Path
    parts: tuple[Path, ...] = ()  #: what goes with it
    size: int  #: bytes of all its files
    used: float  #: seconds since 1970 when it was last asked for


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Says what may stay in the cache; None sets no bound."""

    seconds: float | None = None  #: since an entry was last asked for
    size: float | None = None  #: bytes of all entries together


def entries(root: Path | None = None) -> list[Entry]:
    """Return all entries of the cache, the one that was used longest ago first."""
    root = root or cache_root()
    result = [entry for kind in KINDS for entry in entries_of(root, kind)]
    return sorted(result, key=lambda entry: entry.used)


def entries_of(root: Path, kind: str) -> Iterator[Entry]:
    """Yield the entries of one kind; one that vanishes meanwhile is left out."""
    folder = root / kind
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith("."):
            continue
        parts = (root / PARTS[kind] / path.name,) if kind in PARTS else ()
        try:
            size = sum(map(size_of, (path, *parts)))
            yield Entry(kind=kind, path=path, parts=parts, size=size, used=path.stat().st_mtime)
        except FileNotFoundError:
            continue


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; 0 if there is neither."""
    if not path.is_dir():
        return path.lstat().st_size if path.exists() else 0
    places = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(place.lstat().st_size for place in places)


def too_many(result: Iterable[Entry], bounds: Bounds, now: float) -> list[Entry]:
    """Return those of ``result``, oldest first, that must go for ``bounds`` to hold."""
    waiting = list(result)
    left = sum(entry.size for entry in waiting)
    chosen: list[Entry] = []
    for entry in waiting:
        idle = now - entry.used
        old = bounds.seconds is not None and idle > bounds.seconds
        if idle >= HOUR and (old or (bounds.size is not None and left > bounds.size)):
            chosen.append(entry)
            left -= entry.size
    return chosen


def prune(chosen: Iterable[Entry]) -> list[Entry]:
    """Remove the entries, and return those that were asked for meanwhile and stay."""
    stored: list[Entry] = []
    for entry in chosen:
        with lock_if_free(entry.path.parent / ".locks" / entry.path.name) as free:
            if free and last_use(entry.path) == entry.used:
                for path in (entry.path, *entry.parts):
                    remove(path)
            else:
                stored.append(entry)
    return stored


def last_use(path: Path) -> float | None:
    """Return when an entry was last asked for; None if it is gone."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None


@contextmanager
def lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` unless another process does; yield whether it is held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def remove(path: Path) -> None:
    """Remove an entry in one step, so that a half of it is never found."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    aside = path.parent / ".unfinished" / f"{path.name}-pruned-{os.getpid()}-{time.time_ns()}"
    aside.parent.mkdir(exist_ok=True)
    os.replace(path, aside)
    shutil.rmtree(aside, ignore_errors=True)
