"""Parses CSV: a row a sample, of numbers, beneath a row of names."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.workloads.files import InputError
from sim.workloads.lines import BLANK, BLANKS, NUMBER, check_lines, numbers, shown

DELIMITERS = b",;\t"


def is_csv(text: bytes) -> bool:
    """Return whether the first line of a text has columns, and no ``index:value`` of LIBSVM's."""
    line = BLANKS.sub(b"", text[: 1 << 16], count=1).partition(b"\n")[0].strip()
    return any(each in DELIMITERS for each in line) and not re.search(rb"\s\d+:", line)


def parse(path: Path, text: bytes, label: str | None) -> tuple[NDArray, NDArray, list[str]]:
    """Return features and labels, and the names of the features, which are in the first line.

    ``label`` is the name of the labels' column, or its number from 1 on. Columns are divided by
    commas, semicolons or tabs. Raises InputError for a column that is not there, and for the first
    line that has something other than numbers, by its number.
    """
    begin = len(text) - len(BLANKS.sub(b"", text, count=1))
    line, _, body = (text[begin:] + b"\n").partition(b"\n")
    delimiter = next((each for each in DELIMITERS.decode() if each.encode() in line), ",")
    names = [each.strip(' "') for each in line.decode(errors="replace").strip().split(delimiter)]
    if names == [""]:
        raise InputError(f"{path}: no samples")
    if all(re.fullmatch(NUMBER, name.encode()) for name in names):
        raise InputError(f"{path}: is CSV without names of columns, which the first line must have")
    column, first = _column(path, names, label), 2 + text.count(b"\n", 0, begin)
    cell = rb'(?:"%b"|[ ]*+%b[ ]*+)' % (NUMBER, NUMBER)
    divider = delimiter.encode()
    row = cell + rb"(?:%b%b){%d}" % (re.escape(divider), cell, len(names) - 1)
    good = re.compile(BLANK + cell + BLANK)

    def form(line: bytes) -> str:
        """Return what a line must be, and the first cell of this one that is no number."""
        result, cells = f"{len(names)} numbers, divided by {delimiter!r}", line.split(divider)
        wrong = (pair for pair in zip(names, cells, strict=False) if not good.fullmatch(pair[1]))
        for name, each in wrong:
            return f"{result}: column {name!r} has {shown(each)}, expected a finite number"
        return f"{result}, but {len(cells)}"

    check_lines(path, body, row, form, first=first)
    result = numbers(path, body, first).reshape(-1, len(names))
    features = np.delete(result, column, 1)
    return features, result[:, column], names[:column] + names[column + 1 :]


def _column(path: Path, names: list[str], label: str | None) -> int:
    listed = f"{path}: is CSV: name the column of the labels by --label, one of {', '.join(names)}"
    number = int(label) if label and re.fullmatch(r"\d{1,9}", label) else 0
    if label is not None and names.count(label) == 1:
        return names.index(label)
    if label is None or not 1 <= number <= len(names) or label in names:
        wrong = "two columns have the name" if label in names else "no column has the name"
        raise InputError(listed[:400] + (f"; {wrong} {label!r}" if label else ""))
    return number - 1
