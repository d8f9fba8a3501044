"""Gives the parts of rich that commands use, and shows that work goes on.

Rich is imported when the first of its parts is made. That work goes on is shown by a spinner on a
terminal, else by a line now and then.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
else:

    def late(module: str, name: str) -> Any:
        """Return a function that makes objects of a class; no help text waits for its module."""
        return lambda *values, **named: getattr(import_module(module), name)(*values, **named)

    def Console(**options: Any) -> Any:
        """Return a console that prints lines as they are: ``[x]`` is no markup, none is cut."""
        from rich import console

        class Verbatim(console.Console):
            """Wraps and marks up no line; what is no line, such as a table, fits the console."""

            def print(self, *objects: Any, **named: Any) -> None:
                whole = all(isinstance(each, str) for each in objects)
                super().print(*objects, **{"soft_wrap": whole} | named)

        return Verbatim(markup=False, highlight=False, **options)

    Table = late("rich.table", "Table")

FIRST, SECONDS = 0.3, 20.0  #: seconds to the first line, and between others


def bar(console: Console) -> "Progress":
    """Return a bar of what is done of the total, which goes away at its end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        Elapsed(),
        TextColumn("{task.description}", markup=False),
    )
    return Progress(*columns, console=console, transient=True)


def print_wide(console: Console, built: Table) -> None:
    """Print a table whose numbers are not cut, however narrow the console is."""
    from rich.measure import Measurement

    wide = Console(file=console.file, width=10_000, force_terminal=console.is_terminal)
    wide.width = Measurement.get(wide, wide.options, built).maximum
    wide.print(built, crop=False)


@contextmanager
def waiting(console: Console, text: str, seconds: float = SECONDS) -> Iterator[Callable]:
    """Show ``text`` while the body runs, and give it a function that shows another text.

    Without a terminal, :func:`lines` prints it now and then.
    """
    if console.is_terminal:
        from rich.text import Text

        with console.status(Text(text)) as status:
            yield lambda other: status.update(Text(other))
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

    def report() -> None:
        pause = FIRST
        while not ended.wait(pause):
            spent = time.monotonic() - start
            with suppress(OSError):  # of which the command hears at its own next line
                console.print(f"{shown[0]} ... {spent:.0f} s", soft_wrap=True)
            pause = seconds

    def update(other: str) -> None:
        shown[0] = other

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield update
    finally:
        ended.set()
        reporter.join()
