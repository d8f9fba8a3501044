"""The templates of this folder."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@cache
def environment() -> Environment:
    """Templates end their blocks' lines; an unknown name is an error."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    templates.globals["zip"] = zip
    return templates


def render(template: str, **names: Any) -> str:
    """The text of a template of this folder."""
    return environment().get_template(template).render(names)
