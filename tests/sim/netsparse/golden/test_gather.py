from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.netsparse.golden.gather import (
    Expected,
    expected,
    gather,
    host_memory_before,
    local_product,
    sddmm,
    spmm,
    spmv,
    words,
)
from sim.workloads.matrices import load_matrix
from sim.workloads.partition import Partition, batches, dealt
from tests.sim.netsparse.cases import web

PARTITIONS = [Partition.blocks(20, 3), Partition((0, 5, 5, 19, 20))]
IDXS = np.array([3, 3, -1, 12, 13, 12, 20, 14, 3, 0, 19])


def some_words(count: int = 20, per_property: int = 3) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.integers(1 << 32, size=(count, per_property), dtype=np.uint32)


def test_words() -> None:
    assert words(np.array([[1.0, -2.0]], np.float32)).tolist() == [[0x3F800000, 0xC0000000]]
    assert words(np.array([[-1], [2]], np.int32)).tolist() == [[0xFFFFFFFF], [2]]
    assert words(np.array([[-1], [2]], ">i4")).tolist() == [[0xFFFFFFFF], [2]]
    assert words(np.array([[1, 2, 3, 4]], np.uint8)).tolist() == [[0x04030201]]
    for bad in (np.ones((2, 3), np.uint8), np.ones(4, np.int32), np.ones((0, 1), np.int32)):
        with pytest.raises(ValueError, match="multiple of 4 bytes"):
            words(bad)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_poison(partition: Partition) -> None:
    properties = some_words()
    memories = [host_memory_before(properties, partition, k) for k in range(partition.nodes)]
    remote = []
    for node, memory in enumerate(memories):
        own = partition.is_local(np.arange(20), node)
        assert np.array_equal(memory[own], properties[own])
        remote.append(memory[~own].ravel())
    poison = np.concatenate(remote)
    assert np.unique(poison).size == poison.size  # every node, slot and word its own


def test_poison_is_never_the_property() -> None:
    partition = Partition.blocks(20, 2)
    unlucky = host_memory_before(some_words(), partition, 0)
    memory = host_memory_before(unlucky, partition, 0)
    assert (memory[10:] != unlucky[10:]).all()


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("per_property", [1, 3, 16])
def test_gather(partition: Partition, per_property: int) -> None:
    properties = some_words(per_property=per_property)
    requested = [np.roll(IDXS, node)[: 4 * node] for node in range(partition.nodes)]
    for node, memory in enumerate(gather(properties, partition, requested)):
        before = host_memory_before(properties, partition, node)
        own = range(20)[partition.block(node)]
        for slot in range(20):
            source = properties if slot in own or slot in requested[node] else before
            assert memory[slot].tolist() == source[slot].tolist()


def test_gather_needs_what_fits() -> None:
    with pytest.raises(ValueError, match="2 streams of idxs for 3 nodes"):
        gather(some_words(), PARTITIONS[0], [[], []])
    with pytest.raises(ValueError, match="19 properties do not fit 20 rows"):
        host_memory_before(some_words(19), PARTITIONS[0], 0)


def test_expected_of_one_unit() -> None:
    counts = expected(Partition.blocks(20, 2), 0, [IDXS])
    assert counts == Expected(
        consumed=11, rejected=2, local=4, remote=5, distinct=4, distinct_by_unit=4
    )
    assert counts.prs() == (4, 4)
    assert counts.prs(filtering=False, coalescing=False) == (5, 5)
    assert counts.prs(coalescing=False) == (4, 5)
    assert counts.prs(filtering=False) == (4, 5)


@pytest.mark.parametrize("units", [1, 2, 5])
def test_bounds_hold_for_any_timing(units: int) -> None:
    """Units take turns at random, responses come at any time, and the filter is shared."""
    rng = np.random.default_rng(units)
    partition = Partition.blocks(40, 4)
    stream = rng.integers(-1, 42, 300)
    shares = [np.concatenate(each) for each in dealt(batches(stream, 17), units)]
    counts = expected(partition, 1, shares)
    seen = set()
    for _ in range(30):
        todo, pending, filtered = [list(share) for share in shares], [set() for _ in shares], set()
        tally = dict.fromkeys(("consumed", "coalesced", "filtered", "local", "rejected", "prs"), 0)
        speed = rng.random()  # of the memory, against the units
        while any(todo):
            unit = int(rng.integers(units))
            if rng.random() < speed and pending[unit]:
                filtered.add(pending[unit].pop())
            elif todo[unit]:
                idx = todo[unit].pop(0)
                tally["consumed"] += 1
                if not 0 <= idx < 40:
                    tally["rejected"] += 1
                elif 10 <= idx < 20:
                    tally["local"] += 1
                elif idx in pending[unit]:
                    tally["coalesced"] += 1
                elif idx in filtered:
                    tally["filtered"] += 1
                else:
                    pending[unit].add(idx)
                    tally["prs"] += 1
        counts.check(**tally)
        seen.add(tally["prs"])
    assert (len(seen) == 1) == (units == 1)  # exact for one unit alone


GOOD = {"consumed": 11, "coalesced": 1, "filtered": 0, "local": 4, "rejected": 2, "prs": 4}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local": 3, "filtered": 1}, "expected .*'local': 4"),
        ({"rejected": 1, "filtered": 1}, "expected .*'rejected': 2"),
        ({"consumed": 10}, "expected .*'consumed': 11"),
        ({"coalesced": 2}, "11 consumed, but 12 accounted for"),
        ({"coalesced": 0, "prs": 5}, "5 PRs, expected 4 to 4"),
        ({"coalescing": False}, "1 coalesced without coalescing"),
        ({"coalesced": 0, "filtered": 1, "filtering": False}, "1 filtered without a filter"),
    ],
)
def test_check_finds_wrong_counters(changes: dict[str, int], message: str) -> None:
    counts = expected(Partition.blocks(20, 2), 0, [IDXS])
    counts.check(**GOOD)
    with pytest.raises(AssertionError, match=message):
        counts.check(**GOOD | changes)


@pytest.mark.parametrize("family", ["queen", "europe", "uk", "arabic", "stokes"])
@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_local_products_make_the_whole(family: str, kind: type) -> None:
    matrix = load_matrix(family, nodes=5, rows=400)
    count = matrix.indptr.size - 1
    partition = Partition.blocks(count, 5)
    dense = np.random.default_rng(1).integers(-9, 10, (count, 4)).astype(kind)
    memories = gather(words(dense), partition, partition.idx_streams(matrix))
    parts = [
        local_product(matrix, partition, node, memory, real=kind is np.float32)
        for node, memory in enumerate(memories)
    ]
    whole = spmm(matrix, dense)
    assert whole.dtype == np.int64
    assert np.array_equal(np.vstack(parts), whole)
    assert np.array_equal(whole, matrix.todense().astype(int) @ dense.astype(int))


@pytest.mark.parametrize("kind", [np.int32, np.float32])
@pytest.mark.parametrize("name", ["spmv", "sddmm"])
def test_other_kernels_equal_scipys(name: str, kind: type, rng: np.random.Generator) -> None:
    """The matrix is one of web pages; its parts come from what each node has gathered."""
    matrix, nodes = web(), int(rng.integers(2, 9))
    count = matrix.shape[0]
    partition = Partition.blocks(count, nodes)
    width = 1 if name == "spmv" else int(rng.integers(1, 33))
    first, dense = rng.integers(-99, 100, (2, count, width)).astype(kind)
    memories = gather(words(dense), partition, partition.idx_streams(matrix))
    parts = []
    for node, memory in enumerate(memories):
        own = partial(sddmm, first=first[partition.block(node)])
        kernel, real = spmv if name == "spmv" else own, kind is np.float32
        parts.append(local_product(matrix, partition, node, memory, real=real, kernel=kernel))
    if name == "spmv":
        scipys = matrix @ dense.astype(int)[:, 0]
    else:
        scipys = matrix.multiply(first.astype(int) @ dense.astype(int).T).toarray()
        rows = np.repeat(np.arange(count), np.diff(matrix.indptr))
        scipys = scipys[rows, matrix.indices]
    assert np.array_equal(np.concatenate(parts), scipys)


def test_missing_properties_show() -> None:
    matrix = load_matrix("queen:nodes=2,rows=60")
    partition = Partition.blocks(matrix.indptr.size - 1, 2)
    dense = np.ones((partition.count, 1), np.int32)
    streams = partition.idx_streams(matrix)
    streams[1] = streams[1][streams[1] != streams[1].min()]
    memory = gather(words(dense), partition, streams)[1]
    whole = spmm(matrix, dense)[partition.block(1)]
    assert not np.array_equal(local_product(matrix, partition, 1, memory), whole)


def test_products_are_of_whole_numbers() -> None:
    matrix = csr_array(np.array([[1.5, 0], [0, 1]]))
    with pytest.raises(ValueError, match="whole numbers"):
        spmm(matrix, np.ones((2, 1)))
    for bad in (0.5, np.nan, np.inf, 2.0**60):
        with pytest.raises(ValueError, match="whole numbers"):
            spmm(csr_array(np.eye(2)), np.array([[bad], [1]]))
    assert spmm(csr_array(np.eye(2)), [[2.0], [-3.0]]).tolist() == [[2], [-3]]
