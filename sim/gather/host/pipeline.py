"""Gathers a mini-batch's rows while the one before is in use, as the paper's section 3.3 does."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any, Generic, NamedTuple, Self, TypeVar

from numpy.typing import ArrayLike, NDArray

from sim.gather.host.request import Request
from sim.gather.host.unified_table import PING, PONG, UnifiedTable

B = TypeVar("B")


class Ended(NamedTuple):
    """Says that there are no more mini-batches, and why, if it is an error."""

    error: Exception | None = None


def itself(batch: Any) -> Any:
    """Return a mini-batch that is a list of idxs."""
    return batch


class Pipeline(Generic[B]):
    """Yields each mini-batch of ``batches`` with its rows, which were gathered ahead (figure 6).

    It is an iterator and a context manager. The sampler is ``batches``, any iterable; ``idxs_of``
    returns the idxs of a mini-batch, which by default is a list of idxs itself. The producer is a
    thread, which lets the engine gather mini-batch i + 1 into one of the table's two buffers and
    draws mini-batch i + 2 meanwhile. The consumer is the caller, who has mini-batch i, whose rows
    were in the other buffer. Both meet once for each mini-batch, and that is their only lock: then
    they change buffers.

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
        self.meeting = Barrier(2)  #: of producer and consumer
        self._slots: list[Any] = [None, None]  # the consumer reads one, the producer has one
        self._number, self._open = 0, True
        self._producer = Thread(target=self._produce, name="gather producer", daemon=True)
        self._producer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[B, NDArray[Any]]]:
        return self

    def __next__(self) -> tuple[B, NDArray[Any]]:
        with suppress(BrokenBarrierError):
            self.meeting.wait()
        if not self._open:
            raise StopIteration
        ready = self._slots[self._number % 2]
        self._number += 1
        if isinstance(ready, Ended):
            self.close()
            raise ready.error or StopIteration
        batch, request = ready
        return batch, self.table.rows(request)

    def close(self) -> None:
        """End early: wait for the gather that is under way, and draw no further mini-batch."""
        if self._open:
            self._open = False
            self.meeting.abort()
            self._producer.join()
            self.table.pair.release()

    def _produce(self) -> None:
        """Hand over what is gathered, until the consumer has it all or does not come any more."""
        with suppress(BrokenBarrierError):
            for number, ready in enumerate(self._gathered()):
                self._slots[number % 2] = ready
                self.meeting.wait()

    def _gathered(self) -> Iterator[tuple[B, Request] | Ended]:
        """Yield mini-batches whose rows are in a buffer, then why there are no more."""
        samples = self._sampled()
        batch, buffer = next(samples), PING
        while not isinstance(batch, Ended):
            try:
                request = self.table.begin(self.table.checked(self.idxs_of(batch)), buffer)
                ahead = next(samples)
                self.table.finish(request)
            except Exception as error:
                batch = Ended(error)
            else:
                yield batch, request
                batch, buffer = ahead, PING + PONG - buffer
        yield batch

    def _sampled(self) -> Iterator[B | Ended]:
        """Yield what the sampler does, then why there is no more; this raises nothing."""
        try:
            yield from self.batches
        except Exception as error:
            yield Ended(error)
        else:
            yield Ended()
