"""Connects to the Dask cluster that a sweep runs on: of this machine, or one that is running."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gen.base.errors import UserError
from gen.packages import require
from gen.sweep.sources import version
from sim.harness.cache import workplace

CONNECT_SECONDS = 5
WORKERS_SECONDS = 10


@contextmanager
def local_cluster(jobs: int) -> Iterator[Any]:
    """Start ``jobs`` worker processes on this machine; yield a client, and end them with it."""
    dask, distributed = load_dask()
    settings = {
        "distributed.scheduler.allowed-failures": 0,  # the runner tries again, once
        "distributed.scheduler.worker-ttl": None,  # synthesis may be silent for minutes
        "distributed.comm.timeouts.connect": "30s",
    }
    with (
        workplace() as scratch,
        dask.config.set(settings | {"temporary-directory": str(scratch)}),
        distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",  # any port: it cannot be left out
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def remote_cluster(address: str, modules: tuple[str, ...]) -> Iterator[Any]:
    """Yield a client of the scheduler at ``address``.

    UserError if nothing answers there, or if its workers cannot do the work: they must have
    the same sources of ``modules`` as this machine, and a single thread each.
    """
    if not re.fullmatch(r"(tcp|tls|ucx)://[^\s/:]+:\d+", address):
        raise UserError(f"a scheduler is tcp://HOST:PORT: {address!r}")
    _, distributed = load_dask()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"no scheduler answers at {address}") from error
    with client:
        check_workers(client, address, modules)
        yield client


def check_workers(client: Any, address: str, modules: tuple[str, ...]) -> None:
    """Raise UserError unless there are workers that can do the work."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError as error:
        raise UserError(f"the scheduler at {address} has no workers") from error
    try:
        versions = client.run(version, modules)
    except Exception as error:
        raise UserError(f"the workers of {address} cannot import ingather: {error}") from error
    if wrong := sorted(worker for worker, result in versions.items() if result != version(modules)):
        raise UserError(f"worker {wrong[0]} has other sources of the hardware than this machine")
    if wide := sorted(worker for worker, threads in client.nthreads().items() if threads != 1):
        raise UserError(f"worker {wide[0]} has several threads: start it with --nthreads 1")


def load_dask() -> tuple[Any, Any]:
    """Import Dask and its cluster; raise UserError if they are not installed."""
    require("sweep", "distributed")
    import dask
    import distributed

    return dask, distributed
