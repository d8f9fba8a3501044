import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.planning.workers import metis_workers, provided_workers, read_workers
from tests.rejects import refuses
from tests.sim.switchgnn.cases import graph


def test_metis_balances_and_repeats_itself():
    adjacency = graph("digits").adjacency
    item, again = (metis_workers(adjacency, 4, seed=7) for _ in range(2))
    assert (item.owner == again.owner).all()
    assert (item.owner != metis_workers(adjacency, 4, seed=8).owner).any()
    sizes = np.bincount(item.owner)
    assert sizes.size == 4
    assert sizes.max() <= 1.05 * 1797 / 4


@pytest.mark.parametrize("workers", [1, 1798])
def test_metis_needs_a_vertex_for_each_worker(workers):
    with pytest.raises(UserError, match=f"1797 vertices have 2 to 1797 workers, not {workers}"):
        metis_workers(graph("digits").adjacency, workers)


def test_metis_takes_seeds_of_its_own_range():
    with pytest.raises(UserError, match="the seed of a partition is 0 to 2147483647, not -1"):
        metis_workers(graph("digits").adjacency, 4, seed=-1)


test_a_vector_that_is_no_partition = refuses(
    lambda owner: provided_workers(owner, 3, 2),
    ([0, 1], "a worker for each of 3 vertices, has 2"),
    ([[0, 1, 1]], "a worker for each of 3 vertices, has 1 x 3"),
    ([0, 1, 2], "gives vertex 2 to worker 2, workers are 0 to 1"),
    ([0, -1, 1], "gives vertex 1 to worker -1"),
    ([0, 1 << 40, 1], "gives vertex 1 to worker"),
    ([0, 0.5, 1], "must be whole numbers"),
    ([0, float("nan"), 1], "must be whole numbers"),
    error=UserError,
)


def test_a_partition_in_a_file(tmp_path):
    text, binary, archive = (tmp_path / f"owner.{kind}" for kind in ("txt", "npy", "npz"))
    text.write_text("0\n1\n1\n")
    np.save(binary, np.array([0, 1, 1]))
    provided_workers([0, 1, 1], 3, 2).save(archive)
    for path in (text, binary, archive):
        assert read_workers(path, 3, 2).owner.tolist() == [0, 1, 1]
    text.write_text("zero\n")
    for path in (text, tmp_path / "none.txt", tmp_path / "none.npy"):
        with pytest.raises(UserError, match=path.name):
            read_workers(path, 3, 2)
    with pytest.raises(UserError, match=r"owner.npy: the partition must have a worker for each"):
        read_workers(binary, 4, 2)
