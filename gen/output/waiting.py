"""Shows that work goes on: by a spinner on a terminal, else by a line now and then."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gen.output.consoles import Console

FIRST, SECONDS = 0.3, 20.0  #: seconds to the first line, and between others


@contextmanager
def waiting(console: Console, text: str, seconds: float = SECONDS) -> Iterator[Callable]:
    """Show ``text`` while the body runs, and give it a function that shows another text.

    Without a terminal, :func:`lines` prints it now and then.
    """
    if console.is_terminal:
        with console.status(text) as status:
            yield status.update
    else:
        with lines(console, text, seconds) as update:
            yield update


@contextmanager
def lines(console: Console, text: str, seconds: float = SECONDS) -> Iterator[Callable]:
    """Print ``text`` now and then while the body runs; give it a function that changes the text.

    The first line comes within a second, further ones every ``seconds``. On a terminal nothing is
    printed, because callers show a progress bar there.
    """
    if console.is_terminal:
        yield lambda _: None
        return
    shown, ended, start = [text], threading.Event(), time.monotonic()

    def tell() -> None:
        pause = FIRST
        while not ended.wait(pause):
            spent = time.monotonic() - start
            with suppress(OSError):  # of which the command hears at its own next line
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
