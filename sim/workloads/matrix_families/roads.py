"""Generates road networks: the family of europe_osm."""

import math

import numpy as np
from scipy.sparse import csr_array

from sim.workloads.files import InputError
from sim.workloads.matrix_families.pattern import (
    Ints,
    assembled,
    check_at_least,
    check_shares,
    ranges,
)

ROWS_OF_NODE = 13030
TILES_OF_NODE = 8


def europe(
    *,
    nodes: int = 128,
    rows: int | None = None,
    kept: float = 0.7,
    chain: float = 4.05,
    epochs: int = 8,
    stray: float = 0.345,
    seed: int = 1,
) -> csr_array:
    """Generate a graph like europe_osm (Table 6): a grid's junctions, joined by chains of points.

    A grid edge exists with probability ``kept`` and carries a geometric number of points, ``chain``
    in the mean, perhaps none. A road is cut in its middle, so that a junction and the halves of
    its roads make a star, which is numbered as one. Maps grow by imports: each of 8 tiles per node
    has a main epoch of ``epochs``, of which ``stray`` of the stars are exempt and take any; stars
    are ordered by epoch, within one along a Hilbert curve. ``rows`` (default: 13,030 a node) is the
    expected size.
    """
    rows = nodes * ROWS_OF_NODE if rows is None else rows
    check_at_least(1, nodes=nodes, rows=rows, epochs=epochs)
    check_at_least(0, chain=chain, seed=seed)
    check_shares(kept=kept, stray=stray)
    rng = np.random.default_rng(seed)
    side = max(2, round(math.sqrt(rows / (1 + 2 * kept * chain))))
    y, x = (axis.ravel() for axis in np.indices((side, side)))
    order = _order(x, y, side, max(1, round(math.sqrt(TILES_OF_NODE * nodes))), epochs, stray, rng)

    junctions = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([junctions[:, :-1].ravel(), junctions[:-1].ravel()])
    heads = np.concatenate([junctions[:, 1:].ravel(), junctions[1:].ravel()])
    chosen = rng.random(tails.size) < kept
    tails, heads = tails[chosen], heads[chosen]
    if not tails.size:
        raise InputError(f"no roads: rows ({rows}) or kept ({kept}) is too small")
    points = rng.geometric(1 / (1 + chain), tails.size) - 1
    return _joined(order, tails, heads, points, seed)


def _order(
    x: Ints, y: Ints, side: int, tiles: int, epochs: int, stray: float, rng: np.random.Generator
) -> Ints:
    """Return the junctions in the order of their stars."""
    main = rng.integers(epochs, size=(tiles, tiles))
    epoch = main[y * tiles // side, x * tiles // side]
    strays = rng.random(x.size) < stray
    epoch[strays] = rng.integers(epochs, size=np.count_nonzero(strays))
    return np.lexsort((_hilbert(x, y, (side - 1).bit_length()), epoch))


def _hilbert(x: Ints, y: Ints, bits: int) -> Ints:
    """Return the distance along the Hilbert curve of a square of 2**bits."""
    x, y, distance = x.copy(), y.copy(), np.zeros_like(x)
    for level in reversed(range(bits)):
        right, up = x >> level & 1, y >> level & 1
        distance += (3 * right ^ up) << 2 * level
        turned = up == 0  # a quarter that is entered transposed, the right one also reversed
        reverse = turned & (right == 1)
        x[reverse], y[reverse] = ~x[reverse], ~y[reverse]
        x[turned], y[turned] = y[turned], x[turned]
    return distance


def _joined(order: Ints, tails: Ints, heads: Ints, points: Ints, seed: int) -> csr_array:
    """Number stars in ``order`` and connect them: road k has ``points[k]`` between its ends."""
    # Half roads in the order of their junctions' stars; the tail has the smaller half.
    roads = np.arange(tails.size)
    owners, halves = np.concatenate([tails, heads]), np.concatenate([points // 2, -(-points // 2)])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    by_star = np.lexsort((np.tile(roads, 2), rank[owners]))
    sizes = np.bincount(rank[owners], weights=halves, minlength=order.size).astype(np.int64) + 1
    first = np.cumsum(sizes) - sizes  # number of each star's junction
    junction = first[rank]
    count = int(sizes.sum())
    # A half's points follow its junction and the halves before it.
    lengths = halves[by_star]
    before = np.cumsum(lengths) - lengths + rank[owners[by_star]] + 1
    start = np.empty_like(before)
    start[by_star] = before

    # Outwards from the junction: junction - start - start + 1 - ... - start + length - 1.
    some = halves > 0
    inner = ranges(start[some], halves[some] - 1)
    last = np.where(some, start + halves - 1, junction[owners])
    a = np.concatenate([junction[owners[some]], inner, last[roads]])
    b = np.concatenate([start[some], inner + 1, last[roads.size :]])
    return assembled(np.concatenate([a, b]), np.concatenate([b, a]), count, seed=seed)
