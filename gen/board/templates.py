"""Fills in the hand-written templates of a card."""

from pathlib import Path

from jinja2 import Environment

from gen.base import templates
from gen.base.errors import UserError
from gen.board.tcl import quote


def environment(folder: Path) -> Environment:
    """Load the templates of ``folder``; an unknown variable is an error, ``tcl`` quotes a value."""
    if not folder.is_dir():
        raise UserError(f"the card's templates are not in {folder}; run from a checkout")
    built = templates.environment(folder)
    built.filters["tcl"] = quote
    return built
