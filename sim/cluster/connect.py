"""Connects to a Dask cluster: one of this machine, or one that is running."""

import logging
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from gen.base.errors import UserError
from sim.harness.cache import workplace

CONNECT_SECONDS = 5
WORKERS_SECONDS = 10


@contextmanager
def local_cluster(jobs: int) -> Iterator[Any]:
    """Start ``jobs`` worker processes on this machine; yield a client, and end them with it."""
    import distributed
    from dask import config

    settings = {
        "distributed.scheduler.allowed-failures": 0,  # the dispatcher tries again, once
        "distributed.scheduler.worker-ttl": None,  # synthesis may be silent for minutes
        "distributed.comm.timeouts.connect": "30s",
    }
    with (
        workplace() as scratch,
        uninterrupted_loop() as loop,
        config.set(settings | {"temporary-directory": str(scratch)}),
        distributed.LocalCluster(
            loop=loop,
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
def uninterrupted_loop() -> Iterator[Any]:
    """Yield a loop whose thread, and all processes that it starts, do not hear an interrupt.

    A terminal sends it to all of them. It is this process that hears it, and ends them. Tasks of
    the loop that wait for such a process then fail, of which nothing is printed.
    """
    from distributed.utils import LoopRunner

    resource_tracker.ensure_running()  # whoever starts it hears interrupts from then on
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        runner = LoopRunner(asynchronous=False)
        runner.start()
        asyncio_loop: Any = runner.loop.asyncio_loop  # type: ignore[attr-defined]
        asyncio_loop.set_exception_handler(lambda *_: None)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()


@contextmanager
def remote_cluster(address: str, sources: Callable[[], str]) -> Iterator[Any]:
    """Yield a client of the scheduler at ``address``.

    UserError if nothing answers there, or if its workers cannot do the work: they must have
    this Python, a single thread each, and sources of which ``sources`` returns the same hash.
    """
    if not re.fullmatch(r"(tcp|tls|ucx)://[^\s/:]+:\d+", address):
        raise UserError(f"a scheduler is tcp://HOST:PORT: {address!r}")
    import distributed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"no scheduler answers at {address}") from error
    with client:
        check_workers(client, address, sources)
        yield client


def check_workers(client: Any, address: str, sources: Callable[[], str]) -> None:
    """Raise UserError unless there are workers that can do the work."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except TimeoutError as error:
        raise UserError(f"the scheduler at {address} has no workers") from error
    check_pythons(client.get_versions()["workers"])
    try:
        hashes = client.run(sources)
    except Exception as error:
        raise UserError(f"the workers of {address} cannot import ingather: {error}") from error
    own = sources()
    if wrong := sorted(worker for worker, result in hashes.items() if result != own):
        raise UserError(f"worker {wrong[0]} has other sources of ingather than this machine")
    if wide := sorted(worker for worker, threads in client.nthreads().items() if threads != 1):
        raise UserError(f"worker {wide[0]} has several threads: start it with --nthreads 1")


def check_pythons(versions: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise UserError unless all workers, of which Dask tells ``versions``, have this Python."""
    own = "{}.{}.".format(*sys.version_info)
    for worker, parts in sorted(versions.items()):
        if not (python := parts["host"]["python"]).startswith(own):
            raise UserError(f"worker {worker} has Python {python}, this machine has {own}x")
