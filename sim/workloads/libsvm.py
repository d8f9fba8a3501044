"""Parses LIBSVM text: a line a sample, ``label index:value index:value ...``."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.workloads.files import leave_out
from sim.workloads.lines import BLANKS, COMMENT, GAP, NUMBER, check_lines, numbers, raise_first

FORM = "`label index:value ...` of LIBSVM"
OTHERS = "accepted are also CSV of numbers with --label COLUMN, and .npz"
RANK = GAP + rb"qid:\d++"
SAMPLE = rb"%b(?:%b)?(?:%b\d++:%b)*" % (NUMBER, RANK, GAP, NUMBER)
MAX_INDEX = (1 << 31) - 1


def parse(path: Path, text: bytes) -> tuple[csr_array, NDArray[np.float64]]:
    """Return features as CSR, whose columns are the indices as written, and the labels.

    Comments behind # and the qid of a sample are left out, which is said. Raises InputError with
    the number of the first line that is no sample, and its text.
    """
    text += b"\n" * (not text.endswith(b"\n"))
    check_lines(path, text, SAMPLE, f"{FORM}; {OTHERS}", COMMENT)
    plain, ranks = re.subn(RANK, b"", re.sub(rb"#[^\n]*+", b"", text))
    if ranks:
        leave_out(f"{path}: the qid of {ranks:,} samples, for nothing is ranked")
    result = numbers(path, plain)
    lines = np.frombuffer(re.sub(rb"\s*\n\s*", b"\n", plain.strip() + b"\n"), np.uint8)
    ends = np.flatnonzero(lines == ord("\n")) if result.size else np.empty(0, np.int64)
    starts = np.append(0, np.searchsorted(np.flatnonzero(lines == ord(":")), ends))
    is_label = np.zeros(result.size, bool)
    is_label[2 * starts[:-1] + np.arange(ends.size)] = True
    pairs = result[~is_label].reshape(-1, 2)
    rises = np.diff(pairs[:, 0], prepend=-1) > 0
    rises[starts[:-1][np.diff(starts) > 0]] = True
    if not (rises.all() and pairs[:, 0].max(initial=0) <= MAX_INDEX):
        raise_first(path, plain, _is_disordered, f"must have indices that rise, up to {MAX_INDEX}")
    indices = pairs[:, 0].astype(np.int64)
    shape = (ends.size, int(indices.max(initial=-1)) + 1)
    return csr_array((pairs[:, 1].copy(), indices, starts), shape), result[is_label]


def is_libsvm(text: bytes) -> bool:
    """Return whether the first line of a text that is no comment has a pair of LIBSVM's."""
    line = BLANKS.sub(b"", text[: 1 << 16], count=1).partition(b"\n")[0].partition(b"#")[0]
    return b":" in line and bool(re.fullmatch(SAMPLE, line.strip()))


def first_index(features: csr_array) -> int:
    """Return the index of the first feature: 1 as a rule, 0 for a file that uses it."""
    return 0 if features.nnz and features.indices.min() == 0 else 1


def _is_disordered(line: bytes) -> bool:
    indices = [int(pair.partition(b":")[0]) for pair in line.split()[1:]]
    return indices != sorted(set(indices)) or max(indices, default=0) > MAX_INDEX
