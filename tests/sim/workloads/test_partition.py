from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.workloads.partition import Partition, batches, dealt
from tests.rejects import refuses


@pytest.mark.parametrize(
    ("count", "nodes", "boundaries"),
    [
        (8, 2, (0, 4, 8)),
        (7, 3, (0, 3, 6, 7)),
        (5, 4, (0, 2, 4, 5, 5)),  # the last one owns nothing
        (1, 1, (0, 1)),
        (2, 4, (0, 1, 2, 2, 2)),
    ],
)
def test_blocks(count: int, nodes: int, boundaries: tuple[int, ...]) -> None:
    partition = Partition.blocks(count, nodes)
    assert partition.boundaries == boundaries
    assert (partition.nodes, partition.count) == (nodes, count)


@pytest.mark.parametrize("partition", [Partition.blocks(23, 5), Partition((0, 0, 9, 9, 23, 23))])
def test_every_idx_has_one_owner(partition: Partition) -> None:
    idxs = np.arange(23)
    owner = partition.owner(idxs)
    for node in range(partition.nodes):
        block = partition.block(node)
        own = [block.start <= idx < block.stop for idx in idxs]
        assert (owner == node).tolist() == own
        assert partition.is_local(idxs, node).tolist() == own


test_bad_partitions = refuses(
    lambda make: make(),
    *((partial(Partition, k), "boundaries must be") for k in ((), (0,), (1, 3), (0, 4, 3))),
    *((partial(Partition.blocks, *sizes), "must be at least 1") for sizes in ((0, 1), (5, 0))),
    *((partial(Partition.blocks(5, 2).owner, [0, k]), "between 0 and 4") for k in (-1, 5)),
    (
        partial(Partition.blocks(4, 2).idx_streams, csr_array((4, 5))),
        "a partition of 4 rows does not fit",
    ),
)


def test_streams_follow_the_rows() -> None:
    rng = np.random.default_rng(1)
    dense = (rng.random((11, 11)) < 0.3).astype(np.int32)
    partition = Partition((0, 4, 4, 11))
    streams = partition.idx_streams(csr_array(dense))
    for node, stream in enumerate(streams):
        own = range(11)[partition.block(node)]
        assert stream.tolist() == [c for row in own for c in range(11) if dense[row, c]]
        assert stream.dtype == np.int64
        rows = partition.rows(csr_array(dense), node)
        assert rows.todense().tolist() == dense[partition.block(node)].tolist()


@pytest.mark.parametrize("size", [1, 3, 4, 10, 11])
@pytest.mark.parametrize("units", [1, 2, 3, 20])
def test_batches_dealt_to_units(size: int, units: int) -> None:
    stream = np.arange(10)
    commands = batches(stream, size)
    assert np.concatenate(commands).tolist() == list(range(10))
    assert [len(command) for command in commands[:-1]] == [size] * (len(commands) - 1)
    shares = dealt(commands, units)
    assert len(shares) == units
    for unit, share in enumerate(shares):
        assert [list(each) for each in share] == [list(each) for each in commands[unit::units]]


@pytest.mark.parametrize(
    ("count", "units", "shares"),
    [(7, 2, [[0, 1, 2], [3, 4, 5, 6]]), (6, 3, [[0, 1], [2, 3], [4, 5]]), (2, 3, [[], [0], [1]])],
)
def test_commands_dealt_in_shares(count, units, shares) -> None:
    assert dealt(range(count), units, shares=True) == shares


def test_nothing_to_deal() -> None:
    assert batches(np.empty(0, np.int64), 3) == []
    assert dealt([], 2) == [[], []]
    with pytest.raises(ValueError, match="at least 1 idx"):
        batches(np.arange(3), 0)
    with pytest.raises(ValueError, match="at least 1 unit"):
        dealt([], 0)
