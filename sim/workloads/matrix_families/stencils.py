"""Generates matrices of finite elements and differences: families of queen_4147 and stokes."""

import math
from functools import reduce

import numpy as np
from scipy.sparse import csr_array, kron

from sim.workloads.matrix_families.pattern import check_at_least, with_integer_values

QUEEN_ROWS = 17 * 17 * 150 * 3 / 128
STOKES_ROWS = 48 * 8 * 106 * 4 / 128
STOKES_LINES = 8  #: of a plane

Box = tuple[int, int, int]  #: planes, lines of a plane, points of a line


def queen(
    *, nodes: int = 128, rows: int | None = None, unknowns: int = 3, seed: int = 1
) -> csr_array:
    """Generate a matrix like queen_4147 (Table 6): the 27-point stencil of a bar of square planes.

    Every point has ``unknowns`` rows, all coupled with those of its neighbours. The bar has
    150 / 128 planes for each of the ``nodes``, so that a plane is .85 of a node's block and a node
    reads from its two neighbours and a little from the next ones: what makes the figures of
    Table 1, at any size. ``rows`` (default: 1,016 a node) sets the side of the planes.
    """
    check_at_least(1, nodes=nodes, unknowns=unknowns)
    planes, rows = _planes(nodes, rows, 150 / 128, QUEEN_ROWS)
    check_at_least(0, seed=seed)
    side = max(1, round(math.sqrt(rows / (unknowns * planes))))
    coupled = csr_array(np.ones((unknowns, unknowns), np.int8))
    return _valued(_product(_cube((planes, side, side)), coupled), seed)


def stokes(*, nodes: int = 128, rows: int | None = None, seed: int = 1) -> csr_array:
    """Generate a matrix like stokes (Table 6): velocities u, v, w and pressure p in a long box.

    A velocity has a 7-point stencil on itself and a one-sided gradient of p, 4 points. The row of p
    has the divergences of u, v and w, 27 points each, and the 15 points on p that a mesh of
    tetrahedra couples. So .46 of the nonzeros have a counterpart across the diagonal; the
    SuiteSparse collection states .473 for VLSI/stokes, beside its size. The box has 48 / 128 planes
    of 8 lines for each of the ``nodes``, so that a node has three lines and reads from the planes
    on either side: what makes the figures of Table 1, at any size. ``rows`` (default: 1,272 a node)
    sets the length of the lines.
    """
    check_at_least(1, nodes=nodes)
    planes, rows = _planes(nodes, rows, 48 / 128, STOKES_ROWS)
    check_at_least(0, seed=seed)
    box = planes, STOKES_LINES, max(1, round(rows / (4 * STOKES_LINES * planes)))
    velocities, pressure = np.diag([1, 1, 1, 0]), np.diag([0, 0, 0, 1])
    to_pressure = np.outer([1, 1, 1, 0], [0, 0, 0, 1])
    terms = [
        (_star(box), velocities),
        (_forward(box), to_pressure),
        (_cube(box), to_pressure.T),
        (_tetrahedra(box), pressure),
    ]
    blocks = [_product(stencil, csr_array(coupled, dtype=np.int8)) for stencil, coupled in terms]
    return _valued(reduce(csr_array.__add__, blocks), seed)


def _planes(
    nodes: int, rows: int | None, planes_of_node: float, rows_of_node: float
) -> tuple[int, int]:
    """Return how many planes there are, and near which number of rows the matrix is to land."""
    rows = round(nodes * rows_of_node) if rows is None else rows
    check_at_least(1, rows=rows)
    return max(1, round(nodes * planes_of_node)), rows


def _line(count: int, *steps: int) -> csr_array:
    """Return the matrix that couples each of ``count`` points with those at these steps ahead."""
    ahead = np.subtract.outer(np.arange(count), np.arange(count)) * -1
    return csr_array(np.isin(ahead, steps).astype(np.int8))


def _cube(box: Box) -> csr_array:
    """Return the matrix that couples each point with the 27 of the cube around it."""
    return _everywhere(box, -1, 0, 1)


def _star(box: Box) -> csr_array:
    """Return the matrix that couples each point with itself and its neighbours on the axes: 7."""
    return _along_axes(box, -1, 0, 1)


def _forward(box: Box) -> csr_array:
    """Return the matrix that couples each point with itself and the next one on each axis: 4."""
    return _along_axes(box, 0, 1)


def _tetrahedra(box: Box) -> csr_array:
    """Return the matrix that couples each point with the 15 that share a tetrahedron with it."""
    return _everywhere(box, 0, 1) + _everywhere(box, -1, 0)


def _everywhere(box: Box, *steps: int) -> csr_array:
    """Return the matrix that couples points at all combinations of these steps on three axes."""
    planes, lines, points = (_line(count, *steps) for count in box)
    return _product(planes, _product(lines, points))


def _along_axes(box: Box, *steps: int) -> csr_array:
    """Return the matrix that couples points at these steps along one axis each."""
    still = [_line(count, 0) for count in box]
    terms = []
    for axis, count in enumerate(box):
        planes, lines, points = (*still[:axis], _line(count, *steps), *still[axis + 1 :])
        terms.append(_product(planes, _product(lines, points)))
    return reduce(csr_array.__add__, terms)


def _product(outer: csr_array, inner: csr_array) -> csr_array:
    product = csr_array(kron(outer, inner))
    product.eliminate_zeros()  # which it stores in blocks, if ``inner`` is small
    return product


def _valued(pattern: csr_array, seed: int) -> csr_array:
    pattern.sort_indices()
    return with_integer_values(pattern, seed=seed)
