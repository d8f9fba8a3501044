"""Reads and checks which part each vertex of a graph, or row of a matrix, belongs to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.workloads.arrays import read_array
from sim.workloads.files import InputError
from sim.workloads.lines import read_numbers

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Names:
    """Names what is divided and among whom, for messages."""

    item: str
    items: str
    owner: str


def check_range(owner: Ints, parts: int, names: Names) -> None:
    """Raise InputError unless all items belong to parts 0 to ``parts`` - 1."""
    outside = np.flatnonzero((owner < 0) | (owner >= parts))
    if outside.size:
        raise InputError(
            f"the partition gives {names.item} {outside[0]} to {names.owner} {owner[outside[0]]},"
            f" {names.owner}s are 0 to {parts - 1}"
        )


def whole_owners(owner: ArrayLike, count: int, names: Names) -> Ints:
    """Return ``owner`` as integers; InputError unless it is a whole number for each item."""
    result: NDArray[Any] = np.asarray(owner)
    if result.shape != (count,):
        raise InputError(
            f"the partition must have a {names.owner} for each of {count} {names.items}, has"
            f" {' x '.join(map(str, result.shape)) or 'one'}"
        )
    if result.dtype.kind not in "iu" and not _whole(result):
        raise InputError(f"the partition must be whole numbers, the {names.owner}s")
    limit = np.iinfo(np.int32)
    return np.clip(result, limit.min, limit.max).astype(np.int32)


def _whole(result: NDArray[Any]) -> bool:
    if result.dtype.kind != "f" or not np.isfinite(result).all():
        return False
    return bool((result == np.floor(result)).all())


def read_owners(path: Path) -> ArrayLike:
    """Return the numbers of a file: .npy, or text with one a line; InputError for a damaged one."""
    return read_array(path) if path.suffix == ".npy" else read_numbers(path)
