"""Says in files what made them: licence and version, and the day and the clocks on pages."""

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath

HTML_FOLDER = "registers_html"  #: pages of the registers, which PeakRDL-html makes
LICENCE = "Apache-2.0"  #: of ingather, by its SPDX identifier
#: a comment of one line, by the end of a file's name, or by its whole name
COMMENTS = {
    **dict.fromkeys((".v", ".vh", ".sv", ".h", ".rdl"), "// {}"),
    **dict.fromkeys((".py", ".tcl", ".xdc", ".core", "Makefile"), "# {}"),
    **dict.fromkeys((".md", ".html", ".xml"), "<!-- {} -->"),
}
#: what has to stay a file's first line
DECLARATION = re.compile(r"(?:(?:<!DOCTYPE|<\?xml)[^>]*>|CAPI=2:)\n", re.IGNORECASE)


def with_heads(files: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """Return files by name, each whose kind has comments with a line of licence and version.

    File lists and JSON have none: scripts read every word of them. The pages that PeakRDL-html
    makes stay as they are.
    """
    return {name: with_head(name, text) for name, text in files.items()}


def with_head(name: str, text: str | bytes) -> str | bytes:
    """Return a file's text with the line in front, unchanged if it is of another kind."""
    path = PurePath(name)
    comment = COMMENTS.get(path.suffix or path.name)
    if comment is None or not isinstance(text, str) or HTML_FOLDER in path.parts:
        return text
    head = comment.format(f"SPDX-License-Identifier: {LICENCE}; made by ingather {own_version()}")
    first = DECLARATION.match(text)
    begin = first.end() if first else 0
    return f"{text[:begin]}{head}\n{text[begin:]}"


def built_line(clocks_mhz: Iterable[float] = ()) -> str:
    """Return what stands on top of a page: the version, the day, and the clocks of its figures.

    The day is that of SOURCE_DATE_EPOCH (seconds since 1970) if the environment has it, so that a
    page can be made again byte for byte on another day; else it is today, in UTC.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    day = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    clocks = " and ".join(f"{mhz:g}" for mhz in sorted(set(clocks_mhz)))
    parts = [f"ingather {own_version()}", f"{day.day} {day:%B %Y}"]
    return ", ".join([*parts, f"clock {clocks} MHz"] if clocks else parts)


def own_version() -> str:
    """Return the version of ingather that is installed."""
    return version_of("ingather")


def version_of(package: str) -> str:
    """Return the version of an installed package, or that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
