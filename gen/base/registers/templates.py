"""Loads and renders the templates of this folder."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from gen.base import templates


@cache
def environment() -> Environment:
    """Load the templates of this folder, which can use ``zip``."""
    made = templates.environment(Path(__file__).parent)
    made.globals["zip"] = zip
    return made


def render(template: str, **names: Any) -> str:
    """Return the text of one of this folder's templates, with ``names`` filled in."""
    return environment().get_template(template).render(names)
