"""Lets programs that wait for hardware run beside a simulation, each in a thread of its own.

This is what cocotb's own ``bridge`` and ``resume`` do, for tasks that may be cancelled meanwhile:
cocotb's take the cancellation for an answer of the hardware, and the test fails. No thread runs
while simulated time goes on.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from queue import SimpleQueue
from threading import Thread, local
from typing import Any, NamedTuple

this_thread = local()  #: of a program's thread: what it asks for, and what comes back


class Outcome(NamedTuple):
    """Holds what a call has returned or raised."""

    value: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


def resume(function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """Make a coroutine function one that a program calls, which waits until it has ended."""

    @wraps(function)
    def waiting(*args: Any, **named: Any) -> Any:
        this_thread.requested.put(function(*args, **named))
        return this_thread.outcomes.get().get()

    return waiting


def bridge(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Make a program one that is awaited; it calls what :func:`resume` has made."""

    @wraps(function)
    async def awaited(*args: Any, **named: Any) -> Any:
        requested, outcomes = SimpleQueue[Any](), SimpleQueue[Outcome]()

        def run() -> None:
            this_thread.requested, this_thread.outcomes = requested, outcomes
            try:
                ended = Outcome(function(*args, **named))
            except BaseException as error:
                ended = Outcome(error=error)
            requested.put(ended)

        Thread(target=run, daemon=True).start()
        while not isinstance(each := requested.get(), Outcome):
            try:
                outcome = Outcome(await each)
            except Exception as error:
                outcome = Outcome(error=error)
            except BaseException as error:  # the task is cancelled, and so is the program
                outcomes.put(Outcome(error=error))
                while not isinstance(each := requested.get(), Outcome):
                    each.close()
                    outcomes.put(Outcome(error=error))
                raise
            outcomes.put(outcome)
        return each.get()

    return awaited
