"""Prints tables on a console."""

from gen.output.consoles import Console, Table


def print_wide(console: Console, made: Table) -> None:
    """Print a table whose numbers are not cut, however narrow the console is."""
    from rich.measure import Measurement

    wide = Console(file=console.file, width=10_000, force_terminal=console.is_terminal)
    wide.width = Measurement.get(wide, wide.options, made).maximum
    wide.print(made, crop=False)
