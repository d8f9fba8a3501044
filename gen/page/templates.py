"""Templates of a folder, one way for all that is written from them."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(folder: Path, *, html: bool = False) -> Environment:
    """The templates of ``folder``: they end their blocks' lines, an unknown name is an error.

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
