"""Measures points, two at a time, and keeps what comes of each in the cache.

A reproduction that was interrupted goes on where it was, and one that only judges anew runs nothing
again: a run is found by what it is asked, by its matrix, and by all files that decide what comes of
it, which are the hardware, the model and what drives both.
"""

import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from pathlib import Path

from sim.harness.cache import cached_folder, digest
from sim.harness.closure import digest_of
from sim.netsparse.reproduce.points import Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes, measured
from sim.netsparse.reproduce.subjects import Subject
from sim.netsparse.spmm_session import SpmmSession

WORKERS = 2  #: runs at a time
KIND, FILE = "outcomes", "outcome.pickle"


def measure(points: Iterable[Point], progress: Callable[[str, int, int], None]) -> Outcomes:
    """Return what comes of all points, each run once, the largest first."""
    asked = sorted(dict.fromkeys(points), key=cost, reverse=True)
    found: dict[Point, Outcome] = {}
    for point in asked:
        _ = point.subject.matrix  # made once, for all workers
    kinds = {point.hardware: point.cluster.engine for point in asked}
    for done, (hardware, engine) in enumerate(kinds.items()):
        progress(f"building what clusters run on: {engine}", done, len(kinds))
        SpmmSession.build(hardware)  # kept, and found by the workers
    with ProcessPoolExecutor(WORKERS) as pool:
        waiting = {pool.submit(outcome, point): point for point in asked}
        progress("running clusters", 0, len(asked))
        for done in as_completed(waiting):
            point = waiting[done]
            found[point] = done.result()
            progress(f"has run: {point.what}", len(found), len(asked))
    return found


def cost(point: Point) -> tuple[bool, int]:
    """Return how long a run takes: in RTL longest, else by nonzeros and properties."""
    return not point.cluster.model, point.subject.matrix.indices.size * point.elements


def outcome(point: Point) -> Outcome:
    """Return what comes of ``point``, as the cache has it, or else of a run."""

    def make(folder: Path) -> None:
        (folder / FILE).write_bytes(pickle.dumps(measured(point)))

    key = digest(digest_of((measured.__module__,)), content(point.subject), repr(point))
    folder, _ = cached_folder(KIND, key, make)
    return pickle.loads((folder / FILE).read_bytes())


def content(subject: Subject) -> str:
    """Return a hash of where the matrix has nonzeros: a file may change under its name."""
    matrix = subject.matrix
    places = (sha256(each.tobytes()).hexdigest() for each in (matrix.indptr, matrix.indices))
    return digest(*places, str(matrix.shape))
