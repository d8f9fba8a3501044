"""Divides the rows of a matrix among nodes: in blocks, by a partitioner, or as a file says."""

from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, csr_array

from gen.base.errors import unknown
from sim.netsparse.partition_names import BLOCKS, HYPERGRAPH, METIS, PARTITIONS, SCATTERED
from sim.workloads.files import InputError
from sim.workloads.hypergraphs import parts_of
from sim.workloads.metis import metis, undirected
from sim.workloads.owners import Names, check_range, read_owners, whole_owners
from sim.workloads.partition import Partition

NAMES = Names("row", "rows", "node")


def arranged(matrix: csr_array, nodes: int, how: str, seed: int) -> tuple[csr_array, Partition]:
    """Return the matrix with the rows of each node behind each other, and the partition.

    Columns, which name rows of the dense matrix, are in the same order. METIS takes a nonzero as an
    edge, and cuts few. By ``hypergraph``, Mt-KaHyPar minimises, summed over the rows of the dense
    matrix, the nodes that need a row and do not have it: each of these nodes must send at least one
    PR for that row. Both give nodes nearly the same nonzeros. By ``scattered``, each node has a
    block, in the order of the blocks' numbers with their bits reversed, so that blocks next to each
    other are far apart in the network. Another ``how`` is a file with the node of each row (.npy,
    or text with a number a line). UserError if there is none of this name,
    InputError for one that is damaged or does not fit, and without the partitioner.
    """
    rows = matrix.indptr.size - 1
    if how == BLOCKS:
        return matrix, Partition.blocks(rows, nodes)
    weights = np.diff(matrix.indptr).astype(np.int32) + 1
    if how == METIS:
        owner = metis(undirected(matrix), nodes, seed, weights)
    elif how == HYPERGRAPH:
        owner = parts_of(nets_of(matrix), rows, nodes, seed, weights=weights.tolist())
    elif how == SCATTERED:
        bits = (nodes - 1).bit_length()
        blocks = sorted(range(nodes), key=lambda block: f"{block:0{bits}b}"[::-1])
        owner = np.argsort(blocks)[Partition.blocks(rows, nodes).owner(np.arange(rows))]
    else:
        if not Path(how).exists():
            raise unknown("file or partition", how, PARTITIONS)
        provided = read_owners(Path(how))
        try:
            owner = whole_owners(provided, rows, NAMES)
            check_range(owner, nodes, NAMES)
        except InputError as error:
            raise InputError(f"{how}: {error}") from None
    order = np.argsort(owner, kind="stable")
    result = csr_array(matrix[order][:, order])
    result.sort_indices()
    counts = np.bincount(owner, minlength=nodes)
    return result, Partition((0, *np.cumsum(counts).tolist()))


def nets_of(matrix: csr_array) -> list[list[int]]:
    """Return for each column the rows that need it, with the one that has it, if it is needed."""
    columns = csc_array(matrix)
    columns.sort_indices()
    return [
        [column, *(row for row in rows.tolist() if row != column)]
        for column, rows in enumerate(np.split(columns.indices, columns.indptr[1:-1]))
        if rows.size
    ]
