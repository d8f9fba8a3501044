"""Reads text of numbers: every line is checked against a pattern, so that none is cut silently."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.workloads.files import InputError, read_unpacked

#: Patterns give back no character of a run that they have taken, so that a line takes one pass.
#: Groups may be given back: Python before 3.11.5 takes a part of one that may not.
NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
GAP, BLANK = rb"[ \t]++", rb"[ \t]*+"
COMMENT = rb"(?:#[^\n]*+)?"
BLANKS = re.compile(rb"(?:\s++|#[^\n]*+)*")  #: in front of the first line that has something
SHOWN = 40  #: characters of a malformed line
SEPARATORS = bytes.maketrans(b':,;"', b"    ")


def check_lines(
    place: object,
    text: bytes,
    line: bytes,
    form: str | Callable[[bytes], str],
    end: bytes = b"",
    first: int = 1,
) -> None:
    """Raise InputError, with place, number and text, for the first line which is not ``line``.

    It may be blank. ``text`` ends with a line feed. ``form`` is the pattern in words, or
    makes them of the wrong line, ``end`` a pattern of what may follow in any line, and ``first``
    the number of the first line.
    """
    good = re.compile(rb"^%b(?:%b)?%b%b\r?\n" % (BLANK, line, BLANK, end), re.M)
    if good.sub(b"", text):
        at = 0
        while result := good.match(text, at):
            at = result.end()
        wrong = text[at : text.index(b"\n", at)].rstrip(b"\r")
        begins = re.match(BLANK + line + BLANK, wrong)
        word = re.search(rb"\S*\Z", wrong[: begins.end()]) if begins else None
        near = f" (at {shown(wrong[word.start() :].split()[0])})" if word else ""
        number = first + text.count(b"\n", 0, at)
        words = form if isinstance(form, str) else form(wrong)
        raise InputError(f"{place}: line {number}: {shown(wrong.strip())} is not {words}{near}")


def numbers(place: object, text: bytes, first: int = 1) -> NDArray[np.float64]:
    """Return all numbers of a checked text, in order; raise InputError for one beyond float64."""
    if not text.strip():
        return np.empty(0)  # NumPy finds a number there
    result = np.fromstring(text.translate(SEPARATORS), sep=" ")
    if not np.isfinite(result).all():
        raise_first(place, text, is_beyond, "has a number beyond float64", first)
    return result


def read_numbers(path: Path) -> NDArray[np.float64]:
    """Return the numbers of a text file, which has one in a line, and comments behind #."""
    text = read_unpacked(path) + b"\n"
    check_lines(path, text, NUMBER, "one number", COMMENT)
    return numbers(path, re.sub(rb"#[^\n]*+", b"", text))


def is_beyond(line: bytes) -> bool:
    """Return whether a line of numbers has one that float64 cannot hold."""
    return any(np.isinf(float(each)) for each in re.findall(NUMBER, line))


def raise_first(
    place: object, text: bytes, wrong: Callable[[bytes], bool], says: str, first: int = 1
) -> None:
    """Raise InputError for the first line that is ``wrong``; this looks at one after another."""
    for number, line in enumerate(text.split(b"\n"), first):
        if wrong(line):
            raise InputError(f"{place}: line {number}: {shown(line.strip())} {says}")


def shown(text: bytes) -> str:
    """Return what a message shows of a text: its begin, in quotes."""
    return repr(text[:SHOWN].decode(errors="replace") + "..." * (len(text) > SHOWN))
