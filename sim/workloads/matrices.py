"""Loads sparse matrices by name: Matrix Market files, or families that are generated."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mminfo, mmread
from scipy.sparse import coo_array, csr_array

from sim.workloads.family_options import generated
from sim.workloads.files import PACKED_SUFFIXES, InputError, read_unpacked, reason
from sim.workloads.lines import GAP, NUMBER, check_lines, is_beyond, raise_first
from sim.workloads.matrix_families import FAMILIES
from sim.workloads.matrix_families.pattern import with_integer_values
from sim.workloads.sparse_arrays import check_room, without_zeros

__all__ = ["FAMILIES", "load_matrix", "with_integer_values"]

Header = tuple[int, int, int, str, str, str]

SUFFIXES = (".mtx", *(f".mtx{packed}" for packed in PACKED_SUFFIXES))
BANNER = b"%%MatrixMarket"
FIRST_LINE = "whose first line begins with %%MatrixMarket: scipy.io.mmwrite writes one"
SIZES = re.compile(
    rb"[^\n]*+\n(?:[ \t]*+(?:%[^\n]*+)?\r?\n)*[ \t]*+(?:\d++[ \t]++){2}\d++[ \t]*+\r?\n"
)

REAL = (GAP + NUMBER, "a finite number")
FIELDS = {  # patterns of what is behind row and column, also in words
    "real": REAL,
    "double": REAL,
    "integer": (GAP + rb"-?\d++", "an integer"),
    "unsigned-integer": (GAP + rb"\d++", "an integer"),
    "complex": (2 * (GAP + NUMBER), "two finite numbers"),
    "pattern": (b"", "nothing else"),
}


def load_matrix(
    name_or_path: str | Path,
    *,
    square: bool = True,
    families: Mapping[str, Callable[..., csr_array]] = FAMILIES,
    others: Sequence[str] = (),
    **options: int | float,
) -> csr_array:
    """Return a matrix as CSR: columns ascend within a row, repeated entries are summed.

    ``name_or_path`` is a Matrix Market file of coordinates, packed or not, whose first index is the
    row and whose symmetric halves are expanded, or one of the families with its options, either
    in the name ("queen:nodes=8,seed=3") or as keywords. FAMILIES have values 1 to 9; a file keeps
    its own, ones for a pattern; entries that hold zero are left out, which is said; integers that
    64 bits cannot hold become float64. Anything wrong raises InputError, also a value that is not
    finite; its message names ``others``, the ends of files that the caller reads by itself.
    ``square`` says whether a file with more rows than columns, or fewer, is wrong.
    """
    text = str(name_or_path)
    name, colon, settings = text.partition(":")
    if name in families:
        return generated(families[name], settings if colon else None, options)
    path = Path(name_or_path)
    is_path = "/" in text or "\\" in text or text.lower().endswith(SUFFIXES)
    known = ", ".join(families)
    if not text or not (is_path or path.exists()):
        near = [family for family in families if name.lower().startswith(family)]
        near = near or difflib.get_close_matches(name.lower(), families, n=1, cutoff=0.5)
        raise InputError(
            f"{name!r} is no family{f', did you mean {near[0]!r}? Families' if near else ''}: "
            f"{known}; or the path of a {', '.join((*SUFFIXES, *others))} file"
        )
    if options:
        raise InputError(f"{path}: a file has no options, found {', '.join(options)}")
    return _read(path, square, instead=f" (families: {known})")


def _read(path: Path, square: bool, instead: str) -> csr_array:
    content = read_unpacked(path, instead)
    if content[: len(BANNER)].lower() != BANNER.lower():
        raise InputError(f"{path}: not a Matrix Market file, {FIRST_LINE}")
    content = BANNER + content[len(BANNER) :] + b"\n"  # SciPy knows this spelling only
    try:
        # SciPy's reader winds an open file back to where its header ended, and ends the process
        # if that fails. Bytes can always be wound back.
        header: Any = mminfo(BytesIO(content))
        body, first = _checked(path, content, header, square)
        entries = _entries(content)
        if not np.isfinite(entries.data).all():
            raise_first(path, body, is_beyond, "has a number beyond float64", first)
    except InputError:
        raise
    except Exception as error:  # parsers of foreign files raise nearly anything
        raise InputError(f"{path}: malformed Matrix Market file ({reason(error)})") from None
    return without_zeros(path, csr_array(entries))


def _checked(path: Path, content: bytes, header: Header, square: bool) -> tuple[bytes, int]:
    """Return the lines of the entries, whose text and number are right, and the first's number."""
    rows, columns, entries, kind, field, _ = header
    sizes = SIZES.match(content)
    if kind != "coordinate":
        raise InputError(f"{path}: a dense matrix, expected coordinates")
    if not entries:
        raise InputError(f"{path}: empty, {rows} x {columns} without nonzeros")
    if square and rows != columns:
        raise InputError(f"{path}: must be square, not {rows} x {columns}")
    if not sizes or entries > len(content):
        raise InputError(f"{path}: malformed Matrix Market file, declares {entries:,} entries")
    check_room(f"{path}: declares", rows, columns, entries)
    body, first = content[sizes.end() :], content.count(b"\n", 0, sizes.end()) + 1
    values, form = FIELDS[field]
    line = rb"\d++%b\d++%b" % (GAP, values)
    check_lines(path, body, line, f"a row, a column and {form}", first=first)
    return body, first


def _entries(content: bytes) -> coo_array:
    try:
        return coo_array(mmread(BytesIO(content), spmatrix=False))
    except OverflowError:  # integers beyond 64 bits, or negated ones that have no sign
        banner, end, body = content.partition(b"\n")
        banner = re.sub(rb"(?i)\b(unsigned-)?integer\b", b"real", banner)
        return coo_array(mmread(BytesIO(banner + end + body), spmatrix=False))
