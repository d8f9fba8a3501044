"""Finite-element and finite-difference matrices of a box: queen_4147's and stokes's families."""

import math

import numpy as np
from scipy.sparse import block_array, csr_array, kron

from sim.workloads.matrix_families.pattern import check_at_least, with_integer_values

QUEEN_ROWS = 17 * 17 * 150 * 3 / 128
STOKES_ROWS = 26 * 26 * 60 * 4 / 128


def queen(
    *, nodes: int = 128, rows: int | None = None, unknowns: int = 3, seed: int = 1
) -> csr_array:
    """Queen_4147 (Table 6), structural mechanics: the 27-point stencil of a bar of square planes.

    Every point has ``unknowns`` rows, all coupled with those of its neighbours. The bar has
    150 / 128 planes for each of the ``nodes``, so that a plane is .85 of a node's block and a node
    reads from its two neighbours and a little from the next ones: what makes the figures of
    Table 1, at any size. ``rows`` (default: 1,016 a node) sets the side of the planes.
    """
    check_at_least(1, nodes=nodes, unknowns=unknowns)
    check_at_least(0, seed=seed)
    side, planes = _box(nodes, rows, QUEEN_ROWS, 150 / 128, unknowns)
    coupled = csr_array(np.ones((unknowns, unknowns), np.int8))
    return _valued(_product(_cube(side, planes), coupled), seed)


def stokes(*, nodes: int = 128, rows: int | None = None, seed: int = 1) -> csr_array:
    """Stokes (Table 6), flow: velocities u, v, w and pressure p of a box, stored one after another.

    Each velocity has a 27-point stencil on itself and a 7-point gradient of p; p has 7-point
    divergences of u, v and w and no entries of its own. The box has 60 / 128 planes for each of
    the ``nodes``; ``rows`` (default: 1,268 a node) sets the side of the planes. The couplings
    between quarters of the matrix make most nonzeros remote.
    """
    check_at_least(1, nodes=nodes)
    check_at_least(0, seed=seed)
    side, planes = _box(nodes, rows, STOKES_ROWS, 60 / 128, 4)
    own, cross = _cube(side, planes), _star(side, planes)
    blocks = [
        [own, None, None, cross],
        [None, own, None, cross],
        [None, None, own, cross],
        [cross, cross, cross, None],
    ]
    return _valued(csr_array(block_array(blocks)), seed)


def _box(
    nodes: int, rows: int | None, rows_of_node: float, planes_of_node: float, unknowns: int
) -> tuple[int, int]:
    rows = round(nodes * rows_of_node) if rows is None else rows
    check_at_least(1, rows=rows)
    planes = max(1, round(nodes * planes_of_node))
    return max(1, round(math.sqrt(rows / (unknowns * planes)))), planes


def _line(count: int) -> csr_array:
    """Each of ``count`` points with itself and its neighbours."""
    near = np.abs(np.subtract.outer(np.arange(count), np.arange(count))) <= 1
    return csr_array(near.astype(np.int8))


def _cube(side: int, planes: int) -> csr_array:
    """27 points, planes outermost."""
    return _product(_line(planes), _product(_line(side), _line(side)))


def _star(side: int, planes: int) -> csr_array:
    """7 points: itself and its neighbours along each axis."""
    line, still = _line(side), _still(side)
    plane = _product(line, still) + _product(still, line)
    return _product(_line(planes), _still(side * side)) + _product(_still(planes), plane)


def _still(count: int) -> csr_array:
    return csr_array((np.ones(count, np.int8), np.arange(count), np.arange(count + 1)))


def _product(outer: csr_array, inner: csr_array) -> csr_array:
    product = csr_array(kron(outer, inner))
    product.eliminate_zeros()  # which it stores in blocks, if ``inner`` is small
    return product


def _valued(pattern: csr_array, seed: int) -> csr_array:
    pattern.sort_indices()
    return with_integer_values(pattern, seed=seed)
