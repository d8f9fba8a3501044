"""Parses LIBSVM text: a line a sample, ``label index:value index:value ...``."""

from bisect import bisect_left
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

MISSING = "{} needs scikit-learn: pip install 'ingather[data]'"
SHOWN = 40  #: characters of a malformed line


class MalformedLine(ValueError):
    """Reports a line that is no sample: which line, and why."""


def parse(text: bytes) -> tuple[csr_array, NDArray[np.float64]]:
    """Return features as CSR, whose columns are the indices as written, and the labels.

    Raises MalformedLine with the number of the first line that is no sample, and its text, or if
    the package that reads them is not installed.
    """
    if find_spec("sklearn") is None:
        raise MalformedLine(MISSING.format("LIBSVM text"))
    try:
        return _parse(text)
    except Exception as error:  # the parser raises nearly anything
        lines = text.split(b"\n")
        found = bisect_left(range(len(lines)), True, key=lambda k: _fails(lines[: k + 1]))
        if found == len(lines):
            raise MalformedLine(" ".join(str(error).split())) from None
        line = lines[found].decode(errors="replace").strip()
        shown = line[:SHOWN] + "..." * (len(line) > SHOWN)
        raise MalformedLine(
            f"line {found + 1}: {shown!r} is not `label index:value ...` ({_reason(lines[found])})"
        ) from None


def first_index(features: csr_array) -> int:
    """Return the index of the first feature: 1 as a rule, 0 for a file that uses it."""
    return 0 if features.nnz and features.indices.min() == 0 else 1


def _parse(text: bytes) -> tuple[csr_array, NDArray[np.float64]]:
    from sklearn.datasets import load_svmlight_file

    load: Any = load_svmlight_file  # its type knows less than its documentation
    features, labels = load(BytesIO(text), zero_based=True)
    return csr_array(features), labels


def _fails(lines: list[bytes]) -> bool:
    try:
        _parse(b"\n".join(lines))
    except Exception:
        return True
    return False


def _reason(line: bytes) -> str:
    try:
        _parse(line)
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
    return "after the lines before it"
