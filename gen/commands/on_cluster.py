"""Lets commands run what takes long on the workers of a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer

from gen.packages import require

Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        help="Run on the workers of this Dask scheduler, not on this machine.",
    ),
]


@contextmanager
def client_of(command: str, scheduler: str | None, *, tests: bool = True) -> Iterator[Any]:
    """Yield a client of ``scheduler``; None if there is none.

    UserError unless its workers have the sources of ingather that this machine has: with its
    ``tests``, or as it can be installed.
    """
    if scheduler is None:
        yield None
        return
    require(f"{command} --scheduler", "distributed")
    from sim.cluster.connect import remote_cluster
    from sim.cluster.sources import INSTALLED, TESTED, sources

    with remote_cluster(scheduler, partial(sources, TESTED if tests else INSTALLED)) as client:
        yield client
