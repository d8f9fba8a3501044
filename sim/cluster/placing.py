"""Places parts of a simulated system on the workers of a Dask cluster, and collects what they did.

Dask carries what parts are given and what comes of them. What goes over cut links goes from worker
to worker (``part_worker.py``).
"""

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from zlib import compress

from gen.base.errors import UserError
from sim.cluster import part_worker
from sim.cluster.part_worker import Share
from sim.harness.captures import CAPTURES
from sim.harness.parts import CutRun, Link
from sim.harness.verilate import OPTIMISE, WAVES, Build

POLL_SECONDS = 0.1

T = TypeVar("T")


class PlacedParts:
    """Builds and simulates parts on all workers of the cluster of ``client``.

    UserError if scheduler or workers are lost: a simulation needs all of its parts.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.workers = sorted(client.nthreads())

    @property
    def own_host(self) -> str:
        """Return the address of this machine by which it has reached the scheduler."""
        return urlsplit(self.client.scheduler_comm.comm.local_address).hostname or "127.0.0.1"

    def build(
        self, links: Sequence[Link], count: int, work: Callable[[list[int]], list[Build]]
    ) -> list[Build]:
        """Let each worker build its own of ``count`` parts; return the builds of all.

        ``work`` builds parts of these numbers. Each build is in the cache of its part's worker.
        """
        shares = shares_of(self.workers, links, count)
        environment = {name: os.environ.get(name) for name in (WAVES, CAPTURES, OPTIMISE)}
        results = self.each(
            part_worker.build, {worker: (work, own, environment) for worker, own in shares.items()}
        )
        return in_order(shares, results)

    def simulate(self, cut_run: CutRun, folder: Path) -> list[int]:
        """Simulate parts; return their exit statuses. Files that they write are in ``folder``."""
        shares = shares_of(self.workers, cut_run.links, len(cut_run.parts))
        token = secrets.token_hex(part_worker.TOKEN_BYTES)
        servers = self.each(part_worker.listen, {worker: (token,) for worker in shares})
        near = {number: servers[worker] for worker, own in shares.items() for number in own}

        def receive(event: tuple[Any, Mapping[str, str]]) -> None:
            for name, text in event[1].items():
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(text)

        def share(own: list[int]) -> Share:
            names = {name for number in own for name in cut_run.parts[number].files}
            files = {name: compress((folder / name).read_bytes(), 1) for name in names}
            return Share(token, cut_run, own, near, str(folder), files)

        self.client.subscribe_topic(token, receive)
        try:
            outcomes = self.each(
                part_worker.simulate, {worker: (share(own),) for worker, own in shares.items()}
            )
        finally:
            self.client.unsubscribe_topic(token)
        for _, files in outcomes.values():
            for name, content in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        return in_order(shares, {worker: ended for worker, (ended, _) in outcomes.items()})

    def each(self, function: Callable[..., Any], calls: Mapping[str, tuple]) -> dict[str, Any]:
        """Call ``function`` on workers, with arguments for each; return the results of all."""
        futures = {
            worker: self.client.submit(
                function,
                *arguments,
                key=f"{function.__name__}-{secrets.token_hex(8)}",
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
            for worker, arguments in calls.items()
        }
        try:
            while not all(future.done() for future in futures.values()):
                self.check(futures.values())
                time.sleep(POLL_SECONDS)
            self.check(futures.values())
            return {worker: future.result() for worker, future in futures.items()}
        finally:
            self.client.cancel([*futures.values()])

    def check(self, futures: Collection[Any]) -> None:
        """Raise what a call has raised, and UserError if scheduler or workers are gone."""
        states = {future.status for future in futures}
        if self.client.status != "running" or states & {"cancelled", "lost"}:
            raise UserError("the scheduler is gone")
        try:
            left = sorted({*self.workers} - {*self.client.nthreads()})
        except (OSError, TimeoutError) as error:
            raise UserError("the scheduler is gone") from error
        if left:
            raise UserError(f"worker {left[0]} has left the cluster")
        for future in futures:
            if future.status == "error":
                failure = future.exception()
                if type(failure).__name__ == "KilledWorker":
                    raise UserError(f"worker {failure.last_worker.address} has left the cluster")
                raise failure


def in_order(shares: Mapping[str, list[int]], results: Mapping[str, Sequence[T]]) -> list[T]:
    """Return what each worker returns of each of its parts, in the order of parts."""
    result: dict[int, T] = {}
    for worker, own in shares.items():
        result |= zip(own, results[worker], strict=True)
    return [result[number] for number in sorted(result)]


def shares_of(workers: Sequence[str], links: Sequence[Link], count: int) -> dict[str, list[int]]:
    """Return the numbers of each worker's parts; a worker without any is left out.

    Parts with a single link come in turn, in equal shares; each of the others goes where most of
    its neighbours are, and to the worker with the fewest parts of several. No worker has more parts
    than it must.
    """
    most = -(-count // len(workers))
    ends = Counter(number for link in links for number, _ in link)
    single = [number for number in range(count) if ends[number] <= 1]
    place = {number: k * len(workers) // len(single) for k, number in enumerate(single)}
    for number in range(count):
        if number in place:
            continue
        pairs = [{a[0], b[0]} for a, b in links if number in (a[0], b[0])]
        near = Counter(place[k] for pair in pairs for k in pair - {number} if k in place)
        load = Counter(place.values())
        room = [k for k in range(len(workers)) if load[k] < most]
        place[number] = min(room, key=lambda k: (-near[k], load[k]))
    shares = {worker: sorted(n for n in place if place[n] == k) for k, worker in enumerate(workers)}
    return {worker: own for worker, own in shares.items() if own}
