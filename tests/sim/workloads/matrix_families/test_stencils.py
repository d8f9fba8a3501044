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
    matrix = stokes(nodes=6, rows=4 * 9 * 3).todense() != 0
    grid = points(3, 3)
    own = np.array([[max(abs(np.subtract(a, b))) <= 1 for b in grid] for a in grid])
    cross = np.array([[sum(abs(np.subtract(a, b))) <= 1 for b in grid] for a in grid])
    none = np.zeros_like(own)
    expected = np.block(
        [
            [own, none, none, cross],
            [none, own, none, cross],
            [none, none, own, cross],
            [cross, cross, cross, none],
        ]
    )
    assert np.array_equal(matrix, expected)


def test_queen_at_the_paper_size() -> None:
    """Table 1: 76.3 nonzeros a row, .577 remote, 1:74, 1:25; Table 4 is not reachable."""
    found = redundancy(queen(), 128)
    assert found.rows == 17 * 17 * 150 * 3
    assert found.nonzeros_per_row == pytest.approx(74.4, abs=0.1)
    assert found.share_remote == pytest.approx(0.578, abs=0.001)
    assert found.su == pytest.approx(70, abs=0.5)
    assert found.sa == pytest.approx(23, abs=0.1)
    assert found.destinations == pytest.approx(1.86, abs=0.01)


def test_stokes_at_the_paper_size() -> None:
    """Table 1: 30.5 nonzeros a row, .580 remote, 1:32, 1:3.6; Table 4 is not reachable."""
    found = redundancy(stokes(), 128)
    assert found.rows == 26 * 26 * 60 * 4
    assert found.nonzeros_per_row == pytest.approx(29.2, abs=0.1)
    assert found.share_remote == pytest.approx(0.579, abs=0.001)
    assert found.su == pytest.approx(32, abs=0.2)
    assert found.sa == pytest.approx(3.4, abs=0.05)
    assert found.destinations == pytest.approx(4.08, abs=0.01)


@pytest.mark.parametrize("nodes", [8, 16])
def test_small_ones_keep_the_character(nodes: int) -> None:
    found = redundancy(queen(nodes=nodes), nodes)
    assert found.share_remote == pytest.approx(0.57, abs=0.03)
    assert found.sa == pytest.approx(23, abs=1)
    assert found.destinations == pytest.approx(1.8, abs=0.1)
    assert (1 + found.su) * 127 / (nodes - 1) == pytest.approx(71, rel=0.1)
    found = redundancy(stokes(nodes=nodes), nodes)
    assert found.share_remote == pytest.approx(0.54, abs=0.06)
    assert found.sa == pytest.approx(3.6, abs=0.4)
    assert 3 < found.destinations < 4.2
