"""Checks that rows go to the nodes that a partitioner or a file names, with their product."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gen.base.errors import UserError
from gen.designs.catalogue import find_design
from sim.netsparse.builds import build_gather
from sim.netsparse.golden.redundancy import redundancy
from sim.netsparse.partitioning import arranged, nets_of
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.workloads.files import InputError
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import web


def owned(tmp_path, owner, name="owner.npy"):
    path = tmp_path / name
    if path.suffix == ".npy":
        np.save(path, owner)
    else:
        path.write_text("".join(f"{node}\n" for node in owner))
    return str(path)


@pytest.mark.parametrize("name", ["owner.npy", "owner.txt"])
def test_rows_are_in_the_order_of_their_nodes(tmp_path, rng, name):
    """A nonzero of rows a, b of the old order is that of their places, with its value."""
    matrix, owner = web(), rng.integers(0, 5, 1000)
    owner[np.isin(owner, (2, 4))] = 3  # nodes without rows, one of them the last
    result, partition = arranged(matrix, 5, owned(tmp_path, owner, name), 1)
    assert np.diff(partition.boundaries).tolist() == np.bincount(owner, minlength=5).tolist()
    place = np.empty(1000, np.int64)
    place[np.argsort(owner, kind="stable")] = np.arange(1000)
    before = matrix.tocoo()
    moved = csr_array(
        (before.data, (place[before.coords[0]], place[before.coords[1]])), (1000,) * 2
    )
    assert (result != moved).nnz == 0
    assert result.has_sorted_indices


@pytest.mark.parametrize(("nodes", "blocks"), [(5, [0, 4, 2, 1, 3]), (8, [0, 4, 2, 6, 1, 5, 3, 7])])
def test_scattered_blocks_are_far_from_the_next_ones(nodes, blocks):
    """Each node has the block whose number has its bits reversed, with what its rows need."""
    matrix, whole = web(), Partition.blocks(1000, nodes)
    result, partition = arranged(matrix, nodes, "scattered", 1)
    begin, own = whole.boundaries, np.array(partition.boundaries)
    order = np.concatenate([np.arange(begin[block], begin[block + 1]) for block in blocks])
    assert np.diff(own).tolist() == [begin[block + 1] - begin[block] for block in blocks]
    assert (result != csr_array(matrix[order][:, order])).nnz == 0


def test_partitioners_need_fewer_properties_of_others(rng):
    """Of a road map whose junctions are numbered at random, with as many nonzeros at each node."""
    road = matrix_for("europe:nodes=4,rows=3000", 4, 1)
    order = rng.permutation(road.shape[0])
    road = csr_array(road[order][:, order])
    useful = {}
    for how in ("blocks", "metis", "hypergraph"):
        result, partition = arranged(road, 4, how, 1)
        useful[how] = redundancy(result, partition).useful
        if how != "blocks":
            counts = np.diff(result.indptr[list(partition.boundaries)])
            assert counts.max() <= 1.1 * counts.mean()
    assert useful["hypergraph"] <= useful["metis"] < 0.1 * useful["blocks"]


def test_nodes_that_need_a_row_and_do_not_have_it_ask_at_least_once():
    """Summed over rows, these are the distinct remote idxs of all nodes."""
    result, partition = arranged(web(), 5, "blocks", 1)
    owner = np.searchsorted(partition.boundaries, np.arange(1000), side="right") - 1
    nets = nets_of(result)
    assert all(len(net) == len(set(net)) for net in nets)
    need = sum(len(set(owner[net].tolist())) - 1 for net in nets)
    assert need == redundancy(result, partition).useful


def test_product_of_uneven_nodes(tmp_path, rng):
    """It is exact in RTL where one node has most rows; the model counts the same PRs."""
    params = find_design("netsparse-snic").params_of("tiny")
    owner = (rng.random(1000) < rng.uniform(0.05, 0.3)).astype(int)
    requested = SpmmWorkload(
        partition=owned(tmp_path, owner), property_bytes=8, seed=int(rng.integers(1 << 31))
    )
    run = SpmmRun(web(), params, requested)
    cluster, simulator = build_gather(params, 2)
    gathered = run.simulate(cluster, simulator, tmp_path)
    run.check(gathered)
    counted = run.model(cluster)
    for node, other in zip(gathered.result.nodes, counted.nodes, strict=True):
        assert node.totals["prs"] == other.totals["prs"] > 0


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        ([0, 1, 2, 0], "gives row 2 to node 2, nodes are 0 to 1"),
        ([0, 1, -1, 0], "gives row 2 to node -1, nodes are 0 to 1"),
        ([0, 1, 0], "must have a node for each of 4 rows, has 3"),
        ([0, 1, 0.5, 0], "must be whole numbers, the nodes"),
    ],
)
def test_another_file_is_refused(tmp_path, owner, message):
    matrix = csr_array(np.eye(4))
    with pytest.raises(InputError, match=f"the partition {message}"):
        arranged(matrix, 2, owned(tmp_path, owner), 1)
    with pytest.raises(UserError, match=r"no file or partition '.*none.npy'; there are: blocks,"):
        arranged(matrix, 2, str(tmp_path / "none.npy"), 1)
