"""Counts the software baselines by hand and in closed form."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from sim.netsparse.golden.software import SuOpt, requested, sparsity_aware
from sim.workloads.partition import Partition

LINE, PR = 64, 625.0  #: bytes of a cycle; cycles of a PR


@pytest.mark.parametrize("partition", [Partition.blocks(40, 4), Partition((0, 3, 3, 30, 40))])
@pytest.mark.parametrize(("cores", "property_bytes"), [(1, 4), (3, 64), (16, 512)])
def test_by_hand(partition, cores, property_bytes):
    """One nonzero is counted at a time, for one core and one destination."""
    rng = np.random.default_rng(cores)
    matrix = csr_array(random_array((40, 40), density=0.5, rng=rng))
    result = sparsity_aware(matrix, partition, property_bytes=property_bytes, cores=cores)
    owner = [next(k for k in range(4) if i < partition.boundaries[k + 1]) for i in range(40)]
    for node in range(4):
        own = partition.block(node)
        rows = own.stop - own.start
        each = max(1, -(-rows // cores))
        expected = [set() for _ in range(cores)]
        for row, column in zip(*matrix.nonzero(), strict=True):
            if owner[row] == node != owner[column]:
                expected[(row - own.start) // each].add(int(column))
        for core in range(cores):
            responses = 0
            for other in range(4):
                prs = sum(owner[idx] == other for idx in expected[core])
                filled = -(-prs // ((1500 - 64) // (18 + property_bytes)))
                responses += 64 * filled + prs * (18 + property_bytes)
            assert result.prs[node, core] == len(expected[core])
            assert result.responses[node, core] == responses


def test_cores_do_not_know_of_each_other():
    """Every row names the same remote idx: each core with rows sends a PR for it.

    Seven rows on four cores are two each; the last core has one.
    """
    matrix = csr_array(np.ones((14, 1), int) @ np.eye(1, 14, 13, dtype=int))
    partition = Partition.blocks(14, 2)
    core, idx = requested(matrix, partition, 0, 4)
    assert core.tolist() == [0, 1, 2, 3]
    assert set(idx.tolist()) == {13}
    for cores, prs in ((1, 1), (4, 4), (64, 7)):
        result = sparsity_aware(matrix, partition, property_bytes=64, cores=cores)
        assert result.prs.sum(axis=1).tolist() == [prs, 0]


def test_a_balanced_node_reaches_ten_per_cent_of_the_papers_line():
    """64 cores at 0.8 us a PR of 64 bytes give 5.12 GB/s of 50, also in cycles of 64 bytes."""
    matrix = csr_array(np.kron([[0, 1], [1, 0]], np.eye(640, dtype=int)))
    partition = Partition.blocks(1280, 2)
    result = sparsity_aware(matrix, partition, property_bytes=64, cores=64)
    assert (result.prs == 10).all()
    for line_bytes, pr_cycles in ((50.0, 800.0), (LINE, PR)):  # a nanosecond, one of ours
        assert result.goodput(0, line_bytes, pr_cycles) == pytest.approx(0.1024, rel=1e-12)
        assert result.cycles(line_bytes, pr_cycles) == 10 * pr_cycles


def test_the_busiest_core_and_the_line_limit():
    """If one core has all nonzeros, the others do not help it. A fast core waits for the line."""
    dense = np.zeros((128, 128), int)
    dense[0, 64:] = 1
    partition = Partition.blocks(128, 2)
    result = sparsity_aware(csr_array(dense), partition, property_bytes=512, cores=64)
    assert result.cycles(LINE, PR) == 64 * PR
    assert result.tail(LINE, PR) == 0
    packets = 32  # of two responses each
    assert result.cycles(LINE, 1.0) == (packets * 64 + 64 * 530) / LINE


def test_unaware():
    """A node gets everything but its own, so that which owns least receives most."""
    assert SuOpt(partition=Partition.blocks(100, 4), property_bytes=64).received == 75 * 64
    assert SuOpt(partition=Partition((0, 50, 60, 100)), property_bytes=4).received == 90 * 4
    assert SuOpt(partition=Partition.blocks(100, 4), property_bytes=64).cycles(64) == 75


def test_a_property_that_no_packet_holds():
    with pytest.raises(ValueError, match="1600 bytes does not fit 1500"):
        sparsity_aware(csr_array((4, 4)), Partition.blocks(4, 2), property_bytes=1600, cores=1)
