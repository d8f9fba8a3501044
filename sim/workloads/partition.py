"""Partitions a matrix and its properties by rows over nodes (NetSparse, section 2.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

Ints = NDArray[np.int64]
Command = TypeVar("Command")


@dataclass(frozen=True)
class Partition:
    """Gives rows and properties boundaries[k] <= idx < boundaries[k + 1] to node k."""

    boundaries: tuple[int, ...]  #: N + 1 numbers of rows, ascending, from 0 to the number of rows

    def __post_init__(self) -> None:
        steps = np.diff(self.boundaries)
        if len(self.boundaries) < 2 or self.boundaries[0] != 0 or (steps < 0).any():
            raise ValueError("boundaries must be at least two numbers that rise from 0")

    @classmethod
    def blocks(cls, count: int, nodes: int) -> "Partition":
        """Make equal blocks of ceil(count / nodes); the last ones may be short or empty."""
        if nodes < 1 or count < 1:
            raise ValueError(f"nodes and rows must be at least 1, not {nodes} and {count}")
        size = -(-count // nodes)
        return cls(tuple(min(node * size, count) for node in range(nodes + 1)))

    @property
    def nodes(self) -> int:
        """Return N, the number of nodes."""
        return len(self.boundaries) - 1

    @property
    def count(self) -> int:
        """Return the number of rows, which is that of properties."""
        return self.boundaries[-1]

    @cached_property
    def _upper(self) -> Ints:
        return np.array(self.boundaries[1:])

    def block(self, node: int) -> slice:
        """Return the rows and properties that ``node`` owns."""
        return slice(self.boundaries[node], self.boundaries[node + 1])

    def owner(self, idxs: ArrayLike) -> Ints:
        """Return the node that owns each idx."""
        idxs = np.asarray(idxs)
        if idxs.size and (idxs.min() < 0 or idxs.max() >= self.count):
            raise ValueError(f"idxs must be between 0 and {self.count - 1}")
        return np.searchsorted(self._upper, idxs, side="right")

    def is_local(self, idxs: ArrayLike, node: int) -> NDArray[np.bool_]:
        """Return which idxs ``node`` owns itself."""
        own, idxs = self.block(node), np.asarray(idxs)
        return (own.start <= idxs) & (idxs < own.stop)

    def rows(self, matrix: csr_array, node: int) -> csr_array:
        """Return the rows of ``node``, with the columns of the whole matrix."""
        self._check(matrix)
        return matrix[self.block(node)]

    def idx_stream(self, matrix: csr_array, node: int) -> Ints:
        """Return the columns of ``node``'s nonzeros, row by row, which its RIG commands read."""
        self._check(matrix)
        own = self.block(node)
        return matrix.indices[matrix.indptr[own.start] : matrix.indptr[own.stop]].astype(np.int64)

    def idx_streams(self, matrix: csr_array) -> list[Ints]:
        """Return ``idx_stream`` of every node."""
        return [self.idx_stream(matrix, node) for node in range(self.nodes)]

    def _check(self, matrix: csr_array) -> None:
        if matrix.shape != (self.count, self.count):
            raise ValueError(f"a partition of {self.count} rows does not fit {matrix.shape}")


def batches(idxs: Ints, size: int) -> list[Ints]:
    """Split a stream into RIG commands of ``size`` idxs, the last one perhaps shorter."""
    if size < 1:
        raise ValueError(f"a batch must hold at least 1 idx, not {size}")
    return [idxs[start : start + size] for start in range(0, len(idxs), size)]


def dealt(commands: Sequence[Command], units: int, *, shares: bool = False) -> list[list[Command]]:
    """Return the commands of each of ``units``: one after another in turn, or consecutive shares.

    Either way a unit gets as many as another one, or one more.
    """
    if units < 1:
        raise ValueError(f"there must be at least 1 unit, not {units}")
    if not shares:
        return [list(commands[unit::units]) for unit in range(units)]
    ends = [unit * len(commands) // units for unit in range(units + 1)]
    return [list(commands[start:end]) for start, end in pairwise(ends)]
