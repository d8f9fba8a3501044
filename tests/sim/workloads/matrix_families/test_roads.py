import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from sim.netsparse.golden.redundancy import redundancy
from sim.workloads.files import InputError
from sim.workloads.matrix_families.roads import _hilbert, europe


def test_hilbert_visits_every_cell_by_steps_of_one() -> None:
    y, x = (axis.ravel() for axis in np.indices((16, 16)))
    distance = _hilbert(x, y, 4)
    assert sorted(distance.tolist()) == list(range(256))
    order = np.argsort(distance)
    assert (np.abs(np.diff(x[order])) + np.abs(np.diff(y[order])) == 1).all()


def test_whole_grid_without_points() -> None:
    """With every edge kept, no chains and one epoch, it is the grid itself."""
    matrix = europe(nodes=1, rows=64, kept=1, chain=0, epochs=1, stray=0)
    pattern = (matrix.todense() != 0).astype(int)
    assert matrix.shape == (64, 64)
    assert np.array_equal(pattern, pattern.T)
    assert sorted(np.bincount(pattern.sum(0)).tolist()) == [0, 0, 4, 24, 36]
    assert connected_components(matrix)[0] == 1
    along = np.arange(63)
    assert pattern[along, along + 1].all()  # numbered along the curve


def test_chains_are_paths() -> None:
    matrix = europe(nodes=1, rows=3000, kept=1, stray=0.5)
    degrees = np.diff(matrix.indptr)
    assert np.array_equal(matrix.indices, matrix.T.tocsr().indices)
    assert matrix.diagonal().sum() == 0
    assert degrees.min() >= 2
    assert degrees.max() == 4
    assert np.count_nonzero(degrees == 2) > 0.8 * degrees.size
    assert connected_components(matrix)[0] == 1


def test_no_roads() -> None:
    with pytest.raises(InputError, match="no roads"):
        europe(nodes=1, rows=100, kept=0)


@pytest.mark.parametrize("nodes", [8, 16, 32])
def test_character(nodes: int) -> None:
    """The paper at 128 nodes has 2.12 nonzeros a row, .105 remote, 1:582, 1:.02; Table 4: 7.43."""
    result = redundancy(europe(nodes=nodes), nodes)
    assert result.nonzeros_per_row == pytest.approx(2.12, abs=0.02)
    assert result.share_remote == pytest.approx(0.105, abs=0.003)
    assert result.sa == pytest.approx(0.02, abs=0.003)
    assert (1 + result.su) * 127 / (nodes - 1) == pytest.approx(583, rel=0.03)
    assert 6 < result.destinations < 7.8  # fewer nodes, fewer destinations
