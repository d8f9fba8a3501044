"""Loads the templates of a folder, in one way for everything that is written from templates."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(folder: Path, *, html: bool = False) -> Environment:
    """Load the templates of ``folder``: blocks take their lines away, an unknown name is an error.

    What is put into ``html`` is escaped.
    """
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=html,
    )


@cache
def texts_of(folder: Path) -> Environment:
    """Load the templates of texts in ``folder``, once."""
    return environment(folder)


def render(folder: Path, template: str, **names: Any) -> str:
    """Return the text of a template in ``folder``, with ``names`` filled in."""
    return texts_of(folder).get_template(template).render(names)
