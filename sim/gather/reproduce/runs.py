"""Runs whole engines on one card or several, and keeps what comes of each run."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hdl.gather.engine_params import GatherEngineParams
from sim.gather.gather_session import GatherSession
from sim.gather.workload import GatherWorkload
from sim.reproduce.outcomes import CLIENT, run_all, stored
from sim.reproduce.report import Progress

HARDWARE = GatherEngineParams()
TABLE_BYTES = 1 << 20

Figures = Mapping[str, float]  #: of a GatherSession


@dataclass(frozen=True, kw_only=True)
class Point:
    """Sets a run that asks for random rows, on one card or on several."""

    row_bytes: int
    cards: int
    octets: int  #: of rows, for each card
    memory_gigabytes: float


def measured(point: Point) -> Figures:
    """Return the figures of a run; raise ValueError if a byte is wrong."""
    size = point.row_bytes
    rng = np.random.default_rng(1)
    table = rng.integers(0, 256, (TABLE_BYTES // size, size), dtype=np.uint8)
    idxs = rng.integers(0, TABLE_BYTES // size, point.cards * point.octets // size)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "table.npy", table)
        np.save(folder / "idx.npy", idxs.astype("<u4"))
        requested = GatherWorkload(
            table=str(folder / "table.npy"),
            idx=str(folder / "idx.npy"),
            engines=point.cards,
            memory_gigabytes=point.memory_gigabytes,
            base=0,
        )
        session = GatherSession(HARDWARE, requested)
        simulator = session.build(session.hardware(HARDWARE, requested))
        result = session.run(simulator, folder / "run")
    if not result.exact:
        raise ValueError(f"a gather is wrong: {result.difference}: {point}")
    return result.figures


def outcome(point: Point) -> Figures:
    """Return the figures of a run, as the cache has them, or else of a run."""
    return stored(measured, point)


def measure(requested: Sequence[Point], progress: Progress) -> dict[Point, Figures]:
    """Return what comes of all points."""
    kinds = sorted({point.cards for point in requested})
    for done, cards in enumerate(kinds if CLIENT.get() is None else ()):
        progress(f"building what {cards} engines run on", done, len(kinds))
        GatherSession.build(GatherSession.hardware(HARDWARE, GatherWorkload(engines=cards)))

    def report(point: Point | None, done: int) -> None:
        what = f"has run: rows of {point.row_bytes:,} B" if point else "running engines"
        progress(what, done, len(requested))

    return run_all(outcome, requested, report)
