"""Runs the points of a reproduction, two at a time or on a cluster; the cache keeps outcomes.

A reproduction that was interrupted goes on where it was, and one that only judges anew runs nothing
again: the key of a run is its point and all files that decide its outcome.
"""

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from sim.cluster.dispatch import each
from sim.harness.cache import cached_folder, digest
from sim.harness.closure import digest_of

P = TypeVar("P")
T = TypeVar("T")
WORKERS = 2  #: runs at a time
CLIENT: ContextVar[Any] = ContextVar("client", default=None)  #: of the cluster that runs points
KIND, FILE = "outcomes", "outcome.pickle"


def stored(run: Callable[[P], T], requested: P, *parts: str) -> T:
    """Return the outcome of ``run(requested)``, from the cache or by a new run.

    Its key in the cache is made of the representation of ``requested``, of ``parts``, such as
    contents of files that it names, and of all files that the module of ``run`` depends on.
    """

    def make(folder: Path) -> None:
        (folder / FILE).write_bytes(pickle.dumps(run(requested)))

    key = digest(digest_of((run.__module__,)), *parts, repr(requested))
    folder, _ = cached_folder(KIND, key, make)
    return pickle.loads((folder / FILE).read_bytes())


def run_all(
    run: Callable[[P], T],
    requested: Sequence[P],
    done: Callable[[P | None, int], None],
    pool: Executor | None = None,
) -> dict[P, T]:
    """Return what ``run`` returns for each point of ``requested``, in processes that begin in
    order.

    ``done`` is called at first, and with each point that has run and their number. Another ``pool``
    is shut down at the end.
    """
    result: dict[P, T] = {}
    done(None, 0)
    where = CLIENT.get() or pool or ProcessPoolExecutor(WORKERS)
    for point, outcome in each(where, run, requested):
        result[point] = outcome
        done(point, len(result))
    return result
