"""Measures points, and keeps what comes of each in the cache."""

from collections.abc import Callable, Iterable
from hashlib import sha256

from sim.harness.cache import digest
from sim.netsparse.reproduce.points import Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes, measured
from sim.netsparse.reproduce.subjects import Subject
from sim.netsparse.spmm_session import SpmmSession
from sim.reproduce.outcomes import CLIENT, run_all, stored


def measure(points: Iterable[Point], progress: Callable[[str, int, int], None]) -> Outcomes:
    """Return what comes of all points, each run once, the largest first."""
    requested = sorted(dict.fromkeys(points), key=cost, reverse=True)
    for point in requested:
        _ = point.subject.matrix  # made once, for all workers
    kinds = {point.hardware: point.cluster.engine for point in requested}
    for done, (hardware, engine) in enumerate(kinds.items() if CLIENT.get() is None else ()):
        progress(f"building what clusters run on: {engine}", done, len(kinds))
        SpmmSession.build(hardware)  # kept, and found by the workers

    def report(point: Point | None, done: int) -> None:
        progress(f"has run: {point.what}" if point else "running clusters", done, len(requested))

    return run_all(outcome, requested, report)


def cost(point: Point) -> tuple[bool, int]:
    """Return how long a run takes: in RTL longest, else by nonzeros and properties."""
    return not point.cluster.model, point.subject.matrix.indices.size * point.elements


def outcome(point: Point) -> Outcome:
    """Return what comes of ``point``, as the cache has it, or else of a run."""
    return stored(measured, point, content(point.subject))


def content(subject: Subject) -> str:
    """Return a hash of where the matrix has nonzeros: a file may change under its name."""
    matrix = subject.matrix
    places = (sha256(each.tobytes()).hexdigest() for each in (matrix.indptr, matrix.indices))
    return digest(*places, str(matrix.shape))
