"""Prints tables on a console."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def print_wide(console: Console, made: Table) -> None:
    """Print a table whose numbers are not cut, however narrow the console is."""
    wide = Console(file=console.file, width=10_000, force_terminal=console.is_terminal)
    wide.width = Measurement.get(wide, wide.options, made).maximum
    wide.print(made, crop=False)
