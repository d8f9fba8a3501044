"""The templates of this folder."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from gen.page import templates


@cache
def environment() -> Environment:
    """They can ``zip``."""
    made = templates.environment(Path(__file__).parent)
    made.globals["zip"] = zip
    return made


def render(template: str, **names: Any) -> str:
    """The text of a template of this folder."""
    return environment().get_template(template).render(names)
