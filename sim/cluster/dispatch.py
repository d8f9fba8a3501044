"""Runs calls on a cluster: what sweeps and other commands share that run on one.

As many calls are under way as the cluster has threads: when a worker dies, it is known which call
it had. That call runs once more, on another worker.
"""

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gen.base.errors import UserError

ATTEMPTS = 2
POLL_SECONDS = 0.5
NOBODY_SECONDS = 60  #: longest time that it waits without any worker

Item = TypeVar("Item")
T = TypeVar("T")


class WorkerDied(UserError):
    """Reports a call that has ended as many workers as may try it."""


@dataclass(kw_only=True, eq=False)
class Call:
    """Describes a call of a function on a worker."""

    key: str  #: names the call to Dask, and is that of no other call under way
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    item: Any = None  #: what the call is for
    attempts: int = 0  #: how often it was begun


C = TypeVar("C", bound=Call)
Ended = Iterator[tuple[C, Any, BaseException | None]]  #: a call, its result, and what it raised


class Dispatcher(Generic[C]):
    """Runs calls on the workers of a cluster; as a context, cancels what is left at its end."""

    def __init__(self, client: Any, started: Callable[[C], object] = lambda call: None) -> None:
        self.client = client
        self.started = started  #: is called each time that a call begins
        self.running: dict[str, C] = {}
        self.again: deque[C] = deque()  #: those of ``running`` whose workers have died
        self.futures: dict[str, Any] = {}
        self.ends: queue.SimpleQueue[tuple[C, Any]] = queue.SimpleQueue()
        self.alone_since: float | None = None

    def __enter__(self) -> "Dispatcher[C]":
        return self

    def __exit__(self, *_: object) -> None:
        for future in self.futures.values():
            future.cancel()

    @property
    def free(self) -> bool:
        """Return whether a worker has nothing to do."""
        return len(self.running) < self.slots

    @property
    def slots(self) -> int:
        """Return how many calls the cluster runs at a time."""
        try:
            return sum(self.client.nthreads().values())
        except OSError as error:
            raise lost("the scheduler is gone") from error

    def start(self, call: C) -> None:
        """Give a call to the cluster."""
        self.running[call.key] = call
        call.attempts += 1
        self.started(call)
        future = self.client.submit(
            call.function,
            *call.arguments,
            key=f"{call.key}-{call.attempts}-{time.time_ns()}",
            pure=False,
        )
        self.futures[call.key] = future
        future.add_done_callback(lambda ended: self.ends.put((call, ended)))

    def ended(self) -> Ended[C]:
        """Wait a little for calls to end, and yield those that did.

        UserError if the scheduler or, for a minute, all workers are gone.
        """
        while self.again and len(self.futures) < self.slots:
            self.start(self.again.popleft())
        try:
            ends = [self.ends.get(timeout=POLL_SECONDS)]
        except queue.Empty:
            if self.client.status != "running":
                raise lost("the scheduler is gone") from None
            ends = []
        while not self.ends.empty():
            ends.append(self.ends.get())
        for end in ends:
            yield from self.end(*end)
        self.alone_since = None if self.slots else self.alone_since or time.monotonic()
        if self.alone_since and time.monotonic() - self.alone_since > NOBODY_SECONDS:
            raise lost("all workers of the cluster are gone")

    def end(self, call: C, future: Any) -> Ended[C]:
        """Yield what became of a call; nothing if its worker has died, and it runs again."""
        del self.futures[call.key]
        if future.status in ("cancelled", "lost"):
            raise lost("the scheduler is gone")
        failure = None if future.status == "finished" else future.exception()
        if type(failure).__name__ == "KilledWorker":
            call.attempts += getattr(failure, "allowed_failures", 0)
            if call.attempts < ATTEMPTS:
                self.again.append(call)
                return
            failure = WorkerDied(f"the worker of {call.key} died, {call.attempts} times")
        del self.running[call.key]
        yield call, future.result() if failure is None else None, failure


def each(
    where: Any, function: Callable[..., T], items: Iterable[Item], *rest: Any
) -> Iterator[tuple[Item, T]]:
    """Yield each item with the result of ``function(item, *rest)``, as calls end; they begin in
    order.

    ``where`` is an executor, which is shut down at the end, or a client of a cluster. Raises what a
    call raises; no other call begins then.
    """
    return (run_here if isinstance(where, Executor) else run_there)(where, function, items, *rest)


def run_here(
    pool: Executor, function: Callable[..., T], items: Iterable[Item], *rest: Any
) -> Iterator[tuple[Item, T]]:
    """Do what :func:`each` says on an executor."""
    with pool:
        futures = {pool.submit(function, item, *rest): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_there(
    client: Any, function: Callable[..., T], items: Iterable[Item], *rest: Any
) -> Iterator[tuple[Item, T]]:
    """Do what :func:`each` says on a cluster."""
    name = function.__name__
    waiting = deque(
        Call(key=f"{name}-{number}", function=function, arguments=(item, *rest), item=item)
        for number, item in enumerate(items)
    )
    with Dispatcher[Call](client) as cluster:
        while waiting or cluster.running:
            while waiting and cluster.free:
                cluster.start(waiting.popleft())
            for call, value, failure in cluster.ended():
                if failure is not None:
                    raise failure
                yield call.item, value


def listen(client: Any, handler: Callable[..., None]) -> str:
    """Call ``handler`` with the words that workers :func:`tell`; return the topic of these."""
    topic = f"ingather-{client.id}"
    client.subscribe_topic(topic, lambda event: handler(*event[1]))
    return topic


def tell(topic: str, *words: str) -> None:
    """Send words from the worker that runs this to the client that listens to ``topic``."""
    from distributed import get_worker

    get_worker().log_event(topic, words)


def lost(what: str) -> UserError:
    """Make the error for a cluster that is gone; the same command can go on later."""
    return UserError(f"{what}; what is finished is kept, and the same command goes on from there")
