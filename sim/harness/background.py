"""Runs a simulation in a thread, and follows it from outside while it runs."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

POLL_SECONDS = 0.1

T = TypeVar("T")


def follow(work: Callable[[], T], look: Callable[[], None]) -> T:
    """Run ``work`` in a thread and return its result; ``look`` is called meanwhile, and at the end.

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
