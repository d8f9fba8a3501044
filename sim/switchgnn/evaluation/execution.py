"""Executes a job's tables, turn by turn in integers, as a switch and its workers would."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.switchgnn.golden.aggregation import aggregate, edges_inside
from sim.switchgnn.planning.saved import starts
from sim.switchgnn.planning.tables import FEATURE, PORT_SHIFT, VALID, Tables
from sim.switchgnn.planning.workers import WorkerPartition

Ints = NDArray[np.int64]
MAX_SUM = (1 << 31) - 1


class WrongTableError(Exception):
    """Reports tables that contradict themselves, and where."""


def executed(
    tables: Tables,
    adjacency: csr_array,
    partition: WorkerPartition,
    features: NDArray[np.int16],
    aggregation: int = 0,
) -> Ints:
    """Return Y of one aggregation of the program: [V, features], from the tables and nothing else.

    Every turn gathers the rows of each packet's list, adds its payload to their entries, compares
    additions with descriptors and gives each sum to the vertex of its aggregator. Workers add the
    edges between their own vertices. WrongTableError for an aggregator that does not complete
    exactly, one that is named twice by a list, or a result at another port than its vertex's.
    """
    width = int(tables.widths[aggregation])
    if features.shape[1] != width:
        raise ValueError(f"the aggregation is of {width} features, not {features.shape[1]}")
    sums = aggregate(edges_inside(adjacency, partition.owner), features)
    for block in range(tables.blocks):
        payload, additions = _block(tables, block, len(features))
        used = _check_block(tables, partition, block, additions)
        vertices = tables.result_vertex[_descriptor_rows(tables, block)].ravel()[used]
        for begin in range(0, width, tables.lanes):
            lanes = slice(begin, begin + tables.lanes)
            results = additions @ (payload @ features[:, lanes].astype(np.int64))
            if np.abs(results).max(initial=0) > MAX_SUM:
                raise WrongTableError(f"block {block}: a sum is over 32 bits")
            np.add.at(sums[:, lanes], vertices, results[used])  # a vertex may have copies
    return sums


def _descriptor_rows(tables: Tables, block: int) -> slice:
    return slice(*tables.descriptor_first[block : block + 2].tolist())


def _block(tables: Tables, block: int, vertices: int) -> tuple[csr_array, csr_array]:
    """Return a block as two matrices: features to payloads, and payloads to aggregators."""
    groups = np.arange(tables.workers) * tables.blocks + block
    spans = [np.arange(*tables.packet_first[group : group + 2]) for group in groups]
    packets = np.concatenate(spans)
    at, place = _spread(tables.summand_first[packets], tables.summand_first[packets + 1])
    summands = place, tables.summand[at]
    height = np.diff(tables.descriptor_first[block : block + 2])[0] * tables.banks
    payload = _counted(summands, (packets.size, vertices))
    feature = tables.packet_kind[packets] == FEATURE
    first = tables.packet_list[packets].astype(np.int64)
    at, place = _spread(first[feature], (first + tables.packet_rows[packets])[feature])
    entries = tables.rows[at]
    row, bank = np.nonzero(entries & VALID)
    index = (entries[row, bank] & (VALID - 1)).astype(np.int64)
    aggregator = np.concatenate([index * tables.banks + bank, first[~feature]])
    packet = np.concatenate([np.flatnonzero(feature)[place[row]], np.flatnonzero(~feature)])
    if aggregator.max(initial=-1) >= height:
        raise WrongTableError(f"block {block}: an entry names an aggregator without descriptor")
    return payload, _counted((aggregator, packet), (int(height), packets.size))


def _spread(first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all numbers from each first to its end, and which of them each belongs to."""
    sizes = end - first
    begin = starts(sizes)
    place = np.repeat(np.arange(first.size), sizes)
    return first[place] + np.arange(begin[-1]) - begin[place], place


def _counted(at: tuple[Ints, Ints], shape: tuple[int, int]) -> csr_array:
    return csr_array((np.ones(at[0].size, np.int64), at), shape)


def _check_block(
    tables: Tables, partition: WorkerPartition, block: int, additions: csr_array
) -> Ints:
    """Return the aggregators of a block that are used.

    Raises WrongTableError unless each completes exactly.
    """
    additions.sum_duplicates()
    if (additions.data > 1).any():
        raise WrongTableError(f"block {block}: a list names an aggregator twice")
    descriptors = tables.descriptors[_descriptor_rows(tables, block)].ravel().astype(np.int64)
    vertices = tables.result_vertex[_descriptor_rows(tables, block)].ravel()
    expected, port = descriptors & ((1 << PORT_SHIFT) - 1), descriptors >> PORT_SHIFT
    wrong = np.flatnonzero(np.diff(additions.indptr) != expected)
    if wrong.size:
        raise WrongTableError(
            f"block {block}: aggregator {wrong[0]} expects {expected[wrong[0]]} additions, the"
            f" lists make {np.diff(additions.indptr)[wrong[0]]}"
        )
    used = np.flatnonzero(expected)
    if (vertices[used] < 0).any() or (partition.owner[vertices[used]] != port[used]).any():
        raise WrongTableError(f"block {block}: a result leaves by another port than its vertex's")
    return used
