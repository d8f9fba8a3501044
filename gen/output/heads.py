"""Puts the licence and the version into the first line of each file that has comments."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath

LICENCE = "Apache-2.0"  #: of ingather, by its SPDX identifier
#: how a comment of one line begins, by the end of a file's name, or by its whole name
COMMENTS = {
    **dict.fromkeys((".v", ".sv", ".h", ".rdl"), "//"),
    **dict.fromkeys((".py", ".tcl", ".xdc", "Makefile"), "#"),
}


def with_heads(files: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """Return files by name, those of Verilog, Tcl, constraints, C and Python with a head."""
    return {name: with_head(name, text) for name, text in files.items()}


def with_head(name: str, text: str | bytes) -> str | bytes:
    """Return a file's text with the head in front, unchanged if it is of another kind."""
    path = PurePath(name)
    comment = COMMENTS.get(path.suffix or path.name)
    if comment is None or not isinstance(text, str):
        return text
    return f"{comment} SPDX-License-Identifier: {LICENCE}; made by ingather {own_version()}\n{text}"


def own_version() -> str:
    """Return the version of ingather that is installed."""
    return version_of("ingather")


def version_of(package: str) -> str:
    """Return the version of an installed package, or that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
