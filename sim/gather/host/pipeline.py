"""Gathers a mini-batch's rows while the one before is in use, as the paper's section 3.3 does."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Self, TypeVar

from numpy.typing import ArrayLike, NDArray

from sim.gather.host.request import Request
from sim.gather.host.unified_table import PING, PONG, UnifiedTable

B = TypeVar("B")


def itself(batch: Any) -> Any:
    """Return a mini-batch that is a list of idxs."""
    return batch


class Pipeline(Generic[B]):
    """Yields each mini-batch of ``batches`` with its rows, which were gathered ahead (figure 6).

    It is an iterator and a context manager. The sampler is ``batches``, any iterable; ``idxs_of``
    returns the idxs of a mini-batch, which by default is a list of idxs itself. The producer is a
    thread, which lets the engine gather mini-batch i + 1 into one of the table's two buffers and
    draws mini-batch i + 2 meanwhile. The consumer is the caller, who has mini-batch i, whose rows
    were in the other buffer. Once for each mini-batch the consumer waits for the producer, and
    lets it go on with the other buffer.

    An error of the sampler or of the engine is raised where its mini-batch would come. After the
    last mini-batch, an error or :meth:`close` the thread has ended, and no request is under way
    unless the engine did not answer. RuntimeError if another pipeline is open on the table.
    """

    def __init__(
        self,
        table: UnifiedTable,
        batches: Iterable[B],
        idxs_of: Callable[[Any], ArrayLike] = itself,
    ) -> None:
        if not table.pair.acquire(blocking=False):
            raise RuntimeError("a pipeline is open on this table: close it before")
        self.table, self.batches, self.idxs_of = table, batches, idxs_of
        self._samples, self._buffer, self._open = iter(batches), PING, True
        self._producer = ThreadPoolExecutor(1, "gather producer")
        self._drawn: Future[B] = self._producer.submit(next, self._samples)  # the next to gather
        self.ready: Future[tuple[B, Request]] = self._producer.submit(self._gather)  #: what comes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[B, NDArray[Any]]]:
        return self

    def __next__(self) -> tuple[B, NDArray[Any]]:
        if not self._open:
            raise StopIteration
        try:
            batch, request = self.ready.result()
        except BaseException:
            self.close()
            raise
        self.ready = self._producer.submit(self._gather)
        return batch, self.table.rows(request)

    def close(self) -> None:
        """End early: wait for the gather that is under way, and draw no further mini-batch."""
        if self._open:
            self._open = False
            self._producer.shutdown(cancel_futures=True)
            self.table.pair.release()

    def _gather(self) -> tuple[B, Request]:
        """Gather the mini-batch that was drawn, and draw the next; StopIteration after the last."""
        batch = self._drawn.result()
        request = self.table.begin(self.table.checked(self.idxs_of(batch)), self._buffer)
        self._drawn, self._buffer = attempted(next, self._samples), PING + PONG - self._buffer
        self.table.finish(request)
        return batch, request


def attempted(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """Call a function; return its result, or its error, for later."""
    future: Future[Any] = Future()
    try:
        future.set_result(function(*args))
    except Exception as error:
        future.set_exception(error)
    return future
