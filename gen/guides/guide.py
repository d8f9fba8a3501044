"""Makes the programming guide of a design: a template filled from the hardware's definitions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

HERE = Path(__file__).parent


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return the template of that name, in Markdown, with ``values`` put in."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def as_html(guide: str) -> Markup:
    """Return a guide's text below its title as HTML."""
    body = guide.partition("\n")[2].replace("\n## ", "\n### ")  # below a section of the page
    return Markup(MarkdownIt("commonmark").enable("table").render(body))
