"""Computes what a gather leaves in the hosts' memories, and what it may cost (NetSparse, section
5).

Every node holds an array of all properties, of which it owns a block; a gather brings the owners'
bytes of the idxs that the node asks for. Properties are rows of 32-bit words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from sim.workloads.partition import Ints, Partition

Words = NDArray[np.uint32]

POISON_STEP = 0x9E3779B1
"""Odd, so that 2**32 consecutive words of poison are all different."""


def words(properties: ArrayLike) -> Words:
    """Convert properties [count, elements], numbers or bytes, to 32-bit words as in memory."""
    array = np.ascontiguousarray(properties)
    if array.ndim != 2 or not array.size or array.shape[1] * array.itemsize % 4:
        raise ValueError(
            "properties must have shape (count, elements) and a multiple of 4 bytes each, "
            f"not {array.shape} of {array.itemsize} bytes"
        )
    return array.astype(array.dtype.newbyteorder("<"), copy=False).view("<u4")


def host_memory_before(properties: Words, partition: Partition, node: int) -> Words:
    """Return the property array of ``node`` before a gather: its own block, else poison.

    The poison of a word depends on node, slot and word, and is never the owner's word.
    """
    if len(properties) != partition.count:
        raise ValueError(f"{len(properties)} properties do not fit {partition.count} rows")
    first = np.uint64(node * properties.size + 1)
    order = first + np.arange(properties.size, dtype=np.uint64).reshape(properties.shape)
    poison = (order * np.uint64(POISON_STEP)).astype(np.uint32)
    memory = np.where(poison == properties, ~poison, poison)
    memory[partition.block(node)] = properties[partition.block(node)]
    return memory


def gather(properties: Words, partition: Partition, idxs: Sequence[ArrayLike]) -> list[Words]:
    """Return each node's property array after it has gathered its ``idxs``.

    Slots that nobody asked for still hold their poison; idxs out of range bring nothing.
    """
    if len(idxs) != partition.nodes:
        raise ValueError(f"{len(idxs)} streams of idxs for {partition.nodes} nodes")
    memories = []
    for node, requested in enumerate(idxs):
        memory = host_memory_before(properties, partition, node)
        requested = np.asarray(requested, np.int64)
        requested = requested[_in_range(requested, partition)]
        memory[requested] = properties[requested]
        memories.append(memory)
    return memories


def refused(arrays: Sequence[tuple[int, int]]) -> list[bool]:
    """Return which requests of a node are refused: one for each, in the order of submission.

    ``arrays`` are the address and property size that each names, since the idx filter was cleared.
    The filter tells whose property has come, not in which array: it serves that of the first.
    """
    return [array != arrays[0] for array in arrays]


@dataclass(frozen=True)
class Expected:
    """Holds what the counters of one node say after its units have read their idxs."""

    consumed: int
    rejected: int  #: out of range
    local: int
    remote: int
    distinct: int  #: different remote idxs of the node
    distinct_by_unit: int  #: sum over the units of the different remote idxs of each

    def prs(self, *, filtering: bool = True, coalescing: bool = True) -> tuple[int, int]:
        """Return the fewest and the most PRs; the same where the number is exact.

        The filter is the node's, but two units may both ask before a bit is set; coalescing is
        within a unit and only while an idx is pending. One unit with both issues one PR for each
        distinct idx, none with neither.
        """
        if filtering and coalescing:
            return self.distinct, self.distinct_by_unit
        if filtering:
            return self.distinct, self.remote
        if coalescing:
            return self.distinct_by_unit, self.remote
        return self.remote, self.remote

    def check(
        self,
        *,
        consumed: int,
        coalesced: int,
        filtered: int,
        local: int,
        rejected: int,
        prs: int,
        filtering: bool = True,
        coalescing: bool = True,
    ) -> None:
        """Raise AssertionError, which says which counter is wrong, or that they do not add up."""
        expected = {"consumed": self.consumed, "local": self.local, "rejected": self.rejected}
        result = {"consumed": consumed, "local": local, "rejected": rejected}
        assert result == expected, f"counted {result}, expected {expected}"
        parts = coalesced + filtered + local + rejected + prs
        assert consumed == parts, f"{consumed} consumed, but {parts} accounted for"
        assert filtering or not filtered, f"{filtered} filtered without a filter"
        assert coalescing or not coalesced, f"{coalesced} coalesced without coalescing"
        least, most = self.prs(filtering=filtering, coalescing=coalescing)
        assert least <= prs <= most, f"{prs} PRs, expected {least} to {most}"


def expected(partition: Partition, node: int, units: Iterable[ArrayLike]) -> Expected:
    """Return what ``node`` counts whose units read these idxs, with the filter empty before."""
    consumed = rejected = local = remote = by_unit = 0
    seen = [np.empty(0, np.int64)]
    for unit in units:
        idxs = np.asarray(unit, np.int64)
        valid = idxs[_in_range(idxs, partition)]
        away = valid[~partition.is_local(valid, node)]
        consumed += idxs.size
        rejected += idxs.size - valid.size
        local += valid.size - away.size
        remote += away.size
        seen.append(np.unique(away))
        by_unit += seen[-1].size
    distinct = np.unique(np.concatenate(seen)).size
    return Expected(consumed, rejected, local, remote, distinct, by_unit)


def spmm(matrix: csr_array, dense: ArrayLike) -> NDArray[np.int64]:
    """Return ``matrix @ dense`` in integers; both hold whole numbers, whatever their type."""
    return _with_whole_values(matrix) @ _whole(dense)


def spmv(matrix: csr_array, vector: ArrayLike) -> NDArray[np.int64]:
    """Return ``matrix @ vector`` in integers; the vector is a dense matrix of one column."""
    return _with_whole_values(matrix) @ _whole(vector).ravel()


def sddmm(matrix: csr_array, dense: ArrayLike, *, first: ArrayLike) -> NDArray[np.int64]:
    """Return the nonzeros of ``matrix * (first @ dense.T)``, element by element, in their order.

    Nonzero (i, j) is multiplied by the product of row i of ``first`` and row j of ``dense``.
    """
    rows = np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))
    own, gathered = _whole(first)[rows], _whole(dense)[matrix.indices]
    return _whole(matrix.data) * np.einsum("nk,nk->n", own, gathered)


def local_product(
    matrix: csr_array,
    partition: Partition,
    node: int,
    memory: Words,
    *,
    real: bool = False,
    kernel: Callable[[csr_array, NDArray[np.int64]], NDArray[np.int64]] = spmm,
) -> NDArray[np.int64]:
    """Return what ``kernel`` makes of ``node``'s rows, from what lies in its host memory.

    The words are int32, or float32 with whole values if ``real``. Only slots that a nonzero names
    are read: whatever is missing there makes the product wrong, or is no whole number.
    """
    rows = _with_whole_values(partition.rows(matrix, node))
    needed = np.unique(rows.indices)
    numbers = np.ascontiguousarray(memory[needed]).view("<f4" if real else "<i4")
    dense = np.zeros(memory.shape, np.int64)
    dense[needed] = _whole(numbers)
    return kernel(rows, dense)


def _in_range(idxs: Ints, partition: Partition) -> NDArray[np.bool_]:
    return (idxs >= 0) & (idxs < partition.count)


def _with_whole_values(matrix: csr_array) -> csr_array:
    return csr_array((_whole(matrix.data), matrix.indices, matrix.indptr), matrix.shape)


def _whole(values: ArrayLike) -> NDArray[np.int64]:
    values = np.asarray(values)
    if values.dtype.kind == "f" and not (np.abs(values) < 1 << 53).all():
        raise ValueError("values must be whole numbers below 2**53")
    whole = values.astype(np.int64)
    if not (whole == values).all():
        raise ValueError("values must be whole numbers")
    return whole
