"""Loads sparse matrices by name: Matrix Market files, or families that are generated."""

import difflib
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mminfo, mmread
from scipy.sparse import coo_array, csr_array

from sim.workloads.family_options import generated
from sim.workloads.files import PACKED_SUFFIXES, UnreadableError, read_unpacked
from sim.workloads.matrix_families import FAMILIES
from sim.workloads.matrix_families.pattern import MatrixError, with_integer_values

__all__ = ["FAMILIES", "MatrixError", "load_matrix", "with_integer_values"]

SUFFIXES = (".mtx", *(f".mtx{packed}" for packed in PACKED_SUFFIXES))
BANNER = b"%%MatrixMarket"


def load_matrix(
    name_or_path: str | Path,
    *,
    square: bool = True,
    families: Mapping[str, Callable[..., csr_array]] = FAMILIES,
    **options: int | float,
) -> csr_array:
    """Return a matrix as CSR: columns ascend within a row, repeated entries are summed.

    ``name_or_path`` is a Matrix Market file of coordinates, packed or not, whose first index is the
    row and whose symmetric halves are expanded, or one of the families with its options, either
    in the name ("queen:nodes=8,seed=3") or as keywords. FAMILIES have values 1 to 9; a file keeps
    its own, ones for a pattern, and also zeros that it stores; integers that 64 bits cannot hold
    become float64. Anything wrong raises MatrixError, also a value that is not finite; ``square``
    says whether a file with more rows than columns, or fewer, is wrong.
    """
    text = str(name_or_path)
    name, colon, settings = text.partition(":")
    if name in families:
        return generated(families[name], settings if colon else None, options)
    path = Path(name_or_path)
    is_path = "/" in text or "\\" in text or text.lower().endswith(SUFFIXES)
    known = ", ".join(families)
    if not text or not (is_path or path.exists()):
        near = difflib.get_close_matches(name.lower(), families, n=1, cutoff=0)[0]
        raise MatrixError(
            f"{name!r} is no family, did you mean {near!r}? "
            f"Families: {known}; or the path of a {', '.join(SUFFIXES)} file"
        )
    if options:
        raise MatrixError(f"{path}: a file has no options, found {', '.join(options)}")
    return _read(path, square, instead=f" (families: {known})")


def _read(path: Path, square: bool, instead: str) -> csr_array:
    try:
        content = read_unpacked(path, instead)
    except UnreadableError as error:
        raise MatrixError(str(error)) from None
    if content[: len(BANNER)].lower() != BANNER.lower():
        raise MatrixError(f"{path}: not a Matrix Market file, its first line must say so")
    content = BANNER + content[len(BANNER) :]  # SciPy knows this spelling only
    try:
        # SciPy's reader winds an open file back to where its header ended, and ends the process
        # if that fails. Bytes can always be wound back.
        header: Any = mminfo(BytesIO(content))
        _check_header(path, header, square)
        entries = _entries(content)
        _check_finite(path, entries)
        return csr_array(entries)
    except MatrixError:
        raise
    except Exception as error:  # parsers of foreign files raise nearly anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise MatrixError(f"{path}: malformed Matrix Market file ({reason})") from None


def _entries(content: bytes) -> coo_array:
    try:
        return coo_array(mmread(BytesIO(content), spmatrix=False))
    except OverflowError:  # integers beyond 64 bits, or negated ones that have no sign
        banner, end, body = content.partition(b"\n")
        banner = re.sub(rb"(?i)\b(unsigned-)?integer\b", b"real", banner)
        return coo_array(mmread(BytesIO(banner + end + body), spmatrix=False))


def _check_header(path: Path, header: tuple[int, int, int, str, str, str], square: bool) -> None:
    rows, columns, entries, kind, _, _ = header
    if kind != "coordinate":
        raise MatrixError(f"{path}: a dense matrix, expected coordinates")
    if not entries:
        raise MatrixError(f"{path}: empty, {rows} x {columns} without nonzeros")
    if square and rows != columns:
        raise MatrixError(f"{path}: must be square, not {rows} x {columns}")


def _check_finite(path: Path, entries: coo_array) -> None:
    for index in np.flatnonzero(~np.isfinite(entries.data))[:1]:
        row, column = (int(where[index]) + 1 for where in entries.coords)
        raise MatrixError(
            f"{path}: the entry at row {row}, column {column} is no finite number:"
            f" {entries.data[index]}"
        )
