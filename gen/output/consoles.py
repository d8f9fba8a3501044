"""Gives the parts of rich that commands use; rich is imported when the first of them is made."""

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

    Console = late("rich.console", "Console")
    Table = late("rich.table", "Table")


def bar(console: Console) -> "Progress":
    """Return a bar of what is done of the total, which goes away at its end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    columns = (BarColumn(), MofNCompleteColumn(), Elapsed(), TextColumn("{task.description}"))
    return Progress(*columns, console=console, transient=True)


def print_wide(console: Console, made: Table) -> None:
    """Print a table whose numbers are not cut, however narrow the console is."""
    from rich.measure import Measurement

    wide = Console(file=console.file, width=10_000, force_terminal=console.is_terminal)
    wide.width = Measurement.get(wide, wide.options, made).maximum
    wide.print(made, crop=False)
