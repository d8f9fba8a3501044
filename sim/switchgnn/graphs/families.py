"""Generates graphs whose cuts are like those of Reddit, Yelp and ogbn-products.

Every vertex has a weight, lognormal, which is at most a quarter of sqrt(degree x sum of weights).
Vertices lie in communities, whose sizes are in proportion to 1 + Pareto(1.5), and within these in
runs. Pairs are drawn: the first vertex by weight, the second by weight among all vertices (with the
chance ``global_share``), in the first's community (``community_share``), or in the first's run.
Pairs that are drawn again and pairs of a vertex with itself are dropped; vertices are permuted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.workloads.files import InputError

PAIRS = 0.525  #: drawn, for each vertex and unit of the drawn degree
PARETO = 1.5  #: exponent of the sizes of communities
LEAST_VERTICES = 16

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Family:
    """Describes a family of graphs at its full size."""

    vertices: int
    degree: float  #: drawn; the graph's own is lower, by the pairs that are drawn again
    mean: float  #: degree of the graph at full size
    communities: int
    global_share: float
    community_share: float
    run: int  #: vertices
    sigma: float  #: standard deviation of the logarithms of the weights

    def graph(self, scale: float, seed: int, degree: float = 0) -> csr_array:
        """Return the adjacency of a graph of ``scale`` times the vertices: symmetric, ones.

        Its mean degree is ``degree``, if that is not 0; runs are longer in proportion then.
        """
        count = round(self.vertices * scale) if np.isfinite(scale) else 0
        if count < LEAST_VERTICES or seed < 0:
            raise InputError(
                f"scale must leave at least {LEAST_VERTICES} of {self.vertices} vertices and seed"
                f" be at least 0, not {scale} and {seed}"
            )
        if not 0 <= degree < count / 4:
            raise InputError(
                f"degree must be at least 0 and below a quarter of the {count} vertices"
            )
        rng = np.random.default_rng(seed)
        if not degree:
            first, second = self._pairs(count, rng)
        else:
            first, second = self._denser(degree)._edges(count, round(count * degree / 2), rng)
        place = rng.permutation(count)
        return simple(place[first], place[second], count)

    def _denser(self, degree: float) -> "Family":
        times = degree / self.mean
        run = max(1, round(self.run * times))
        return replace(self, degree=self.degree * times, mean=degree, run=run)

    def _edges(self, count: int, edges: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Draw pairs until there are as many edges."""
        keys = np.empty(0, np.int64)
        while keys.size < edges:
            first, second = self._pairs(count, rng)
            pairs = (np.minimum(first, second) * count + np.maximum(first, second))[first != second]
            keys = np.union1d(keys, pairs)
        keys = rng.permutation(keys)[:edges]
        return keys // count, keys % count

    def _pairs(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        weight = rng.lognormal(0, self.sigma, count)
        weight = np.minimum(weight, np.sqrt(self.degree * weight.sum()) / 4)
        until = np.concatenate([[0], np.cumsum(weight)])
        pairs = round(PAIRS * count * self.degree)

        def drawn(low: Ints, high: Ints) -> Ints:
            at = until[low] + rng.random(pairs) * (until[high] - until[low])
            return np.clip(np.searchsorted(until, at, side="right") - 1, low, high - 1)

        sizes = 1 + rng.pareto(PARETO, self.communities)
        bounds = np.rint(np.concatenate([[0], np.cumsum(sizes)]) / sizes.sum() * count)
        bounds = bounds.astype(np.int64)
        nothing = np.zeros(pairs, np.int64)
        first = drawn(nothing, nothing + count)
        community = np.searchsorted(bounds, first, side="right") - 1
        low, high = bounds[community], bounds[community + 1]
        run = low + (first - low) // self.run * self.run
        chance = rng.random(pairs)
        among = [chance < self.global_share, chance < self.global_share + self.community_share]
        low, high = (
            np.select(among, [nothing, low], run),
            np.select(among, [nothing + count, high], np.minimum(run + self.run, high)),
        )
        return first, drawn(low, high)


def simple(sources: Ints, destinations: Ints, count: int) -> csr_array:
    """Return the undirected graph with these edges: no edge twice, none from a vertex to itself."""
    stored = sources != destinations
    low = np.minimum(sources, destinations)[stored]
    high = np.maximum(sources, destinations)[stored]
    keys = np.unique(low * count + high)
    ones = np.ones(keys.size, np.int8)
    upper = csr_array((ones, (keys // count, keys % count)), (count, count))
    return csr_array(upper + upper.T)


REDDIT = Family(
    vertices=20_000,
    degree=200,
    mean=69,
    communities=41,
    global_share=0.08,
    community_share=0.25,
    run=160,
    sigma=1.6,
)
YELP = Family(
    vertices=40_000,
    degree=20,
    mean=16,
    communities=60,
    global_share=0.10,
    community_share=0.15,
    run=200,
    sigma=1.2,
)
PRODUCTS = Family(
    vertices=60_000,
    degree=50,
    mean=28,
    communities=47,
    global_share=0.02,
    community_share=0.08,
    run=100,
    sigma=1.1,
)


def reddit(scale: float = 1.0, seed: int = 1, degree: float = 0.0) -> csr_array:
    """Generate a graph like Reddit's: 20,000 vertices of mean degree 69, or of ``degree``."""
    return REDDIT.graph(scale, seed, degree)


def yelp(scale: float = 1.0, seed: int = 1, degree: float = 0.0) -> csr_array:
    """Generate a graph like Yelp's: 40,000 vertices of mean degree 16, or of ``degree``."""
    return YELP.graph(scale, seed, degree)


def products(scale: float = 1.0, seed: int = 1, degree: float = 0.0) -> csr_array:
    """Generate a graph like ogbn-products': 60,000 vertices of mean degree 28, or of ``degree``."""
    return PRODUCTS.graph(scale, seed, degree)


FAMILIES: dict[str, Callable[..., csr_array]] = {
    family.__name__: family for family in (reddit, yelp, products)
}
