"""Lets commands run what takes long on the workers of a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from gen.packages import require

SCHEDULER = typer.Option(
    metavar="tcp://HOST:PORT",
    help="Run on the workers of this Dask scheduler, not on this machine.",
)
Scheduler = Annotated[str | None, SCHEDULER]


@contextmanager
def client_of(command: str, scheduler: str | None) -> Iterator[Any]:
    """Yield a client of ``scheduler``, None if there is none; UserError if it cannot be used."""
    if scheduler is None:
        yield None
        return
    require(f"{command} --scheduler", "distributed")
    from sim.cluster.connect import remote_cluster
    from sim.cluster.sources import sources

    with remote_cluster(scheduler, sources) as client:
        yield client
