"""Tells that something goes on: with a spinner on a terminal, else by a line now and then."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

FIRST, SECONDS = 1.0, 20.0  #: until the first line where there is no terminal, and between others


@contextmanager
def waiting(console: Console, text: str, seconds: float = SECONDS) -> Iterator[Callable]:
    """Show ``text`` while the body runs, and give it a function that shows another text.

    Without a terminal there is a line after a second, and one every so many ``seconds`` from then.
    """
    if console.is_terminal:
        with console.status(text) as status:
            yield status.update
        return
    shown, ended, start = [text], threading.Event(), time.monotonic()

    def tell() -> None:
        pause = FIRST
        while not ended.wait(pause):
            spent = time.monotonic() - start
            console.print(f"{shown[0]} ... {spent:.0f} s", soft_wrap=True)
            pause = seconds

    def update(other: str) -> None:
        shown[0] = other

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield update
    finally:
        ended.set()
        teller.join()
