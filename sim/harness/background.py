"""A simulation in a thread, followed from outside while it runs."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

POLL_SECONDS = 0.1

T = TypeVar("T")


def follow(work: Callable[[], T], look: Callable[[], None]) -> T:
    """What ``work`` returns, done in a thread; ``look`` is called now and then, and at the end.

    What ``work`` or ``look`` raises is raised here, after ``work`` has ended.
    """
    values: list[T] = []
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            values.append(work())
        except BaseException as failure:  # handed on to the caller's thread
            failures.append(failure)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            look()
            time.sleep(POLL_SECONDS)
        look()
    except Exception:
        thread.join()
        raise
    if failures:
        raise failures[0]
    return values[0]
