"""Counts a matrix' transfers in sparse communication: tables 1, 3 and 4 of NetSparse (section 3).

Of a matrix in one-dimensional blocks a *useful* transfer brings a node a property that it needs
and does not own: one for every distinct remote idx of the node. All others are redundant:

- SU, sparsity unaware: every node receives every property of the others;
- SA, sparsity aware: a node asks once for each of its nonzeros that is remote.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sim.workloads.partition import Ints, Partition

WINDOW = 64  #: consecutive remote nonzeros of Table 4
RACK = 16  #: nodes that share a switch

UPPER_AND_CONCATENATION_BYTES = 64  #: bytes of a packet
PR_BYTES = 18
ELEMENT_BYTES = 4


@dataclass(frozen=True)
class Redundancy:
    """Counts the transfers of one gather, summed over all nodes."""

    nodes: int
    rows: int
    nonzeros: int
    unaware: int  #: properties that all nodes receive under SU
    remote: int  #: nonzeros with a remote idx, transfers under SA
    useful: int  #: distinct remote idxs of each node
    shared: int  #: of the useful ones, those that another node of the rack needs too
    destinations: float  #: Table 4; nan without any full window

    @property
    def nonzeros_per_row(self) -> float:
        """Return the mean degree: nonzeros per row."""
        return self.nonzeros / self.rows

    @property
    def share_remote(self) -> float:
        """Return the share of the nonzeros whose idx is remote."""
        return _ratio(self.remote, self.nonzeros)

    @property
    def su(self) -> float:
        """Return table 1's redundant transfers for each useful one, sparsity unaware."""
        return _ratio(self.unaware - self.useful, self.useful)

    @property
    def sa(self) -> float:
        """Return table 1's redundant transfers for each useful one, sparsity aware."""
        return _ratio(self.remote - self.useful, self.useful)

    @property
    def share_shared(self) -> float:
        """Return the share of useful transfers whose properties several nodes of a rack need."""
        return _ratio(self.shared, self.useful)


def redundancy(
    matrix: csr_array, nodes: int | Partition, *, window: int = WINDOW, rack: int = RACK
) -> Redundancy:
    """Count the transfers of ``matrix`` over ``nodes``, equal blocks or a partition.

    ``window`` is the number of remote nonzeros of a node, in order and without any filter, in
    which Table 4 counts the owners; only full ones count, none overlap, all nodes weigh by their
    number. Racks are ``rack`` consecutive nodes.
    """
    partition = (
        nodes if isinstance(nodes, Partition) else Partition.blocks(matrix.indptr.size - 1, nodes)
    )
    remote = useful = shared = owners_seen = windows = 0
    expected = np.zeros(partition.count, np.int64)  # by how many nodes of the rack
    for node in range(partition.nodes):
        idxs = partition.idx_stream(matrix, node)
        idxs = idxs[~partition.is_local(idxs, node)]
        remote += idxs.size
        distinct = np.unique(idxs)
        useful += distinct.size
        expected[distinct] += 1
        if (node + 1) % rack == 0 or node + 1 == partition.nodes:
            shared += int(expected[expected > 1].sum())
            expected[:] = 0
        seen = distinct_in_windows(partition.owner(idxs), window)
        owners_seen += int(seen.sum())
        windows += seen.size
    return Redundancy(
        nodes=partition.nodes,
        rows=partition.count,
        nonzeros=matrix.indices.size,
        unaware=(partition.nodes - 1) * partition.count,
        remote=remote,
        useful=useful,
        shared=shared,
        destinations=_ratio(owners_seen, windows),
    )


def distinct_in_windows(values: Ints, window: int = WINDOW) -> Ints:
    """Return how many different values each full, non-overlapping window holds."""
    ordered = np.sort(values[: values.size // window * window].reshape(-1, window), axis=1)
    return 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)


def header_share(elements: int, prs: float = 1) -> float:
    """Return table 3's share of headers in a property's read and response, ``prs`` PRs a packet.

    A PR costs 18 bytes and its part of the packet's 64, both ways; the property has ``elements``
    of 4 bytes. Alone that is 164 / (164 + 4 K); the paper's figures are 160 / (160 + 4 K).
    """
    headers = 2 * (UPPER_AND_CONCATENATION_BYTES / prs + PR_BYTES)
    return headers / (headers + ELEMENT_BYTES * elements)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
