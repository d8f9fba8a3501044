"""The hand-written text of a card, filled in."""

from pathlib import Path
from typing import Any

from gen.board.tcl import quote
from gen.errors import UserError


def environment(folder: Path) -> Any:
    """The templates of ``folder``: an unknown variable is an error, ``tcl`` quotes a value."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    if not folder.is_dir():
        raise UserError(f"the card's templates are not in {folder}; run from a checkout")
    made = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # no HTML
    )
    made.filters["tcl"] = quote
    return made
