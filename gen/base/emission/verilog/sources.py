"""Says in comments which line of Python a part of the Verilog was made by."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import Any

import amaranth

AMARANTH = Path(amaranth.__file__).parent
ROOT = Path(__file__).parents[4]
COLUMNS = 100
MARK = "\0"  #: stands between a line and its comment while the text is made


@cache
def shown(file: str) -> str:
    """Return a file's path from the project's root, else its name; empty for Amaranth's own."""
    path = PurePath(file)
    if path.is_relative_to(AMARANTH) or not path.is_absolute():
        return ""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def comment(source: Any) -> str:
    """Return the comment that names a line, given as Amaranth's ``src_loc``; empty if none is."""
    name = shown(source[0]) if source else ""
    return f"// {name}:{source[1]}" if name else ""


def marked(lines: Iterable[str], source: Any) -> Iterator[str]:
    """Yield lines, the first one with the comment that names where they are from."""
    text = comment(source)
    for place, line in enumerate(lines):
        yield f"{line}{MARK}{text}" if text and not place else line


def with_sources(verilog: str, comments: dict[int, str]) -> str:
    """Return Verilog with comments, given by line from 0: behind the line, or before a long one."""
    lines = []
    for place, line in enumerate(verilog.splitlines()):
        if text := comments.get(place, ""):
            if len(line) + 2 + len(text) > COLUMNS:
                lines.append(line[: len(line) - len(line.lstrip())] + text)
            else:
                line += f"  {text}"
        lines.append(line)
    return "\n".join([*lines, ""])
