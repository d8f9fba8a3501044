"""Models the two software baselines of NetSparse (section 8.1): ideal, each in its own way.

- SUOpt, sparsity unaware: every node receives all properties that it does not own, at the rate of
  the line, without headers and latency.
- SAOpt, sparsity aware: each core of a node has an equal part of the node's rows, knows at no cost
  which idxs its nonzeros name, and asks once for each of them that another node owns. Cores do not
  know of each other: an idx that several of them need is asked for by each. A PR costs its core a
  time; PRs of one core for one node share packets of MTU size. There is no latency.

Times are in cycles, in each of which the line brings ``line_bytes``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sim.netsparse.golden.redundancy import PR_BYTES, UPPER_AND_CONCATENATION_BYTES
from sim.workloads.partition import Ints, Partition

MTU = 1500


@dataclass(frozen=True, kw_only=True)
class SuOpt:
    """Counts what sparsity unaware communication receives."""

    partition: Partition
    property_bytes: int

    @property
    def received(self) -> int:
        """Return the bytes of the node that receives most."""
        count = self.partition.count
        own = min(
            self.partition.block(node).stop - self.partition.block(node).start
            for node in range(self.partition.nodes)
        )
        return (count - own) * self.property_bytes

    def cycles(self, line_bytes: float) -> float:
        """Return the cycles until the last node has everything."""
        return self.received / line_bytes


@dataclass(frozen=True, kw_only=True)
class SaOpt:
    """Counts what the cores of sparsity aware software ask for: an array of nodes x cores each."""

    property_bytes: int
    prs: Ints  #: PRs of each core
    responses: Ints  #: bytes of the responses to a core, headers included

    def node_cycles(self, line_bytes: float, pr_cycles: float) -> np.ndarray:
        """Return each node's cycles: its busiest core's, but no less than the line's."""
        return np.maximum(self.prs.max(axis=1) * pr_cycles, self.responses.sum(axis=1) / line_bytes)

    def cycles(self, line_bytes: float, pr_cycles: float) -> float:
        """Return the cycles until the last node has everything."""
        return float(self.node_cycles(line_bytes, pr_cycles).max())

    def tail(self, line_bytes: float, pr_cycles: float) -> int:
        """Return the node that takes longest."""
        return int(self.node_cycles(line_bytes, pr_cycles).argmax())

    def goodput(self, node: int, line_bytes: float, pr_cycles: float) -> float:
        """Return the properties that ``node`` receives, as a share of what the line could bring."""
        time = self.node_cycles(line_bytes, pr_cycles)[node]
        return float(self.prs[node].sum() * self.property_bytes / (time * line_bytes))


def sparsity_aware(
    matrix: csr_array, partition: Partition, *, property_bytes: int, cores: int, mtu: int = MTU
) -> SaOpt:
    """Count what the ``cores`` of each node ask for."""
    of_packet = (mtu - UPPER_AND_CONCATENATION_BYTES) // (PR_BYTES + property_bytes)
    if not of_packet:
        raise ValueError(f"a property of {property_bytes} bytes does not fit {mtu} bytes")
    shape = (partition.nodes, cores)
    prs, responses = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for node in range(partition.nodes):
        core, idx = requested(matrix, partition, node, cores)
        prs[node] = np.bincount(core, minlength=cores)
        pairs = core * partition.nodes + partition.owner(idx)  # of core and destination
        joined = np.bincount(pairs, minlength=cores * partition.nodes).reshape(cores, -1)
        headers = (-(-joined // of_packet)).sum(axis=1) * UPPER_AND_CONCATENATION_BYTES
        responses[node] = headers + prs[node] * (PR_BYTES + property_bytes)
    return SaOpt(property_bytes=property_bytes, prs=prs, responses=responses)


def requested(matrix: csr_array, partition: Partition, node: int, cores: int) -> tuple[Ints, Ints]:
    """Return core and idx of each PR of ``node``: the different remote idxs of each core's rows."""
    own = partition.block(node)
    each = max(1, -(-(own.stop - own.start) // cores))  # rows of a core
    lengths = np.diff(matrix.indptr[own.start : own.stop + 1])
    core = np.repeat(np.arange(lengths.size) // each, lengths)
    idxs = partition.idx_stream(matrix, node)
    remote = ~partition.is_local(idxs, node)
    pairs = np.unique(core[remote] * partition.count + idxs[remote])
    return np.divmod(pairs, partition.count)
