import itertools

import numpy as np
import pytest

from sim.netsparse.golden.redundancy import redundancy
from sim.workloads.matrix_families.stencils import queen, stokes


def points(side: int, planes: int) -> list[tuple[int, int, int]]:
    return list(itertools.product(range(planes), range(side), range(side)))


def test_queen_couples_neighbours() -> None:
    matrix = queen(nodes=2, rows=2 * 9 * 2, unknowns=2).todense() != 0
    grid = points(3, 2)
    near = np.array([[max(abs(np.subtract(a, b))) <= 1 for b in grid] for a in grid])
    assert np.array_equal(matrix, np.kron(near, np.ones((2, 2), bool)))


def test_stokes_couples_components() -> None:
    """A point's rows are u, v, w and p; the grid has 3 planes of 8 lines of 4 points."""
    matrix = stokes(nodes=8, rows=4 * 3 * 8 * 4).todense() != 0
    grid = list(itertools.product(range(3), range(8), range(4)))
    steps = np.array([[np.subtract(b, a) for b in grid] for a in grid])
    distance, ahead = np.abs(steps).sum(-1), steps.min(-1) >= 0
    cube = np.abs(steps).max(-1) <= 1
    star, forward = distance <= 1, (distance <= 1) & ahead
    tetrahedra = cube & (ahead | (steps.max(-1) <= 0))
    own, gradient, divergence, pressure = np.zeros((4, 4, 4), bool)
    np.fill_diagonal(own[:3, :3], val=True)
    gradient[:3, 3] = divergence[3, :3] = pressure[3, 3] = True
    terms = [(star, own), (forward, gradient), (cube, divergence), (tetrahedra, pressure)]
    assert np.array_equal(matrix, np.any([np.kron(*term) for term in terms], axis=0))


def test_queen_at_the_paper_size() -> None:
    """Table 1 has 76.3 nonzeros a row, .577 remote, 1:74, 1:25; Table 4 is out of reach."""
    result = redundancy(queen(), 128)
    assert result.rows == 17 * 17 * 150 * 3
    assert result.nonzeros_per_row == pytest.approx(74.4, abs=0.1)
    assert result.share_remote == pytest.approx(0.578, abs=0.001)
    assert result.su == pytest.approx(70, abs=0.5)
    assert result.sa == pytest.approx(23, abs=0.1)
    assert result.destinations == pytest.approx(1.86, abs=0.01)


def test_stokes_at_the_paper_size() -> None:
    """Table 1 has 30.5 nonzeros a row, .580 remote, 1:32, 1:3.6; Table 4 is out of reach."""
    matrix = stokes()
    result = redundancy(matrix, 128)
    assert result.rows == 48 * 8 * 106 * 4
    assert result.nonzeros_per_row == pytest.approx(29.5, abs=0.1)
    assert result.share_remote == pytest.approx(0.62, abs=0.001)
    assert result.su == pytest.approx(35, abs=0.5)
    assert result.sa == pytest.approx(4.2, abs=0.05)
    assert result.destinations == pytest.approx(3.7, abs=0.05)
    pattern = matrix.astype(bool).astype(np.int8)
    diagonal = np.count_nonzero(matrix.diagonal())
    matched = pattern.multiply(pattern.T).nnz - diagonal
    assert matched / (matrix.nnz - diagonal) == pytest.approx(0.473, abs=0.02)  # VLSI/stokes


@pytest.mark.parametrize("nodes", [8, 16])
def test_small_ones_keep_the_character(nodes: int) -> None:
    """Those of stokes have few planes, whose outer ones read from one side only."""
    result = redundancy(queen(nodes=nodes), nodes)
    assert result.share_remote == pytest.approx(0.57, abs=0.03)
    assert result.sa == pytest.approx(23, abs=1)
    assert result.destinations == pytest.approx(1.8, abs=0.1)
    assert (1 + result.su) * 127 / (nodes - 1) == pytest.approx(71, rel=0.1)
    result = redundancy(stokes(nodes=nodes), nodes)
    assert result.share_remote == pytest.approx(0.57, abs=0.05)
    assert result.sa == pytest.approx(4.1, abs=0.2)
    assert 2.9 < result.destinations < 3.7
