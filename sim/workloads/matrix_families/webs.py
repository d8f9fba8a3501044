"""Web crawls: the families of uk-2002 and arabic-2005."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sim.workloads.matrix_families.pattern import Ints, assembled, check_at_least

ROWS_OF_NODE = 1562.5
TEMPLATE_LINKS = 3  #: foreign links of a host's template, in the mean
NEIGHBOURS = 20  #: hosts on either side that are near
HUBS = 64  #: of a neighbourhood
HUB_NODES = 8  #: blocks that share their hubs
INDEX_POWER = 3  #: in-host links go to page size * u**3


@dataclass(frozen=True, kw_only=True)
class Crawl:
    """What tells one crawl from another."""

    alpha: float  #: of the Pareto sizes of hosts
    mean: float  #: pages of a host
    cap: float  #: largest host, in means
    degree: float  #: in-host links of a page, before repeats are merged
    near: float  #: share of them to a page a geometric distance away
    distance: float  #: its mean
    taken: float  #: of the template's links, by each page
    near_host: float  #: share of foreign links to one of the next hosts
    hub: float  #: share of foreign links to a hub
    zipf: float  #: exponent of the hosts' popularity, for the remaining ones
    random: float  #: foreign links of a page that are in no template


UK = Crawl(
    alpha=2.2, mean=56, cap=20, degree=23.3, near=0.3, distance=4, taken=0.2,
    near_host=0.6, hub=0.3, zipf=0.8, random=0.09,
)  # fmt: skip
ARABIC = Crawl(
    alpha=1.6, mean=60, cap=5, degree=66, near=0.95, distance=7, taken=0.98,
    near_host=0.63, hub=0.33, zipf=1.2, random=0.01,
)  # fmt: skip


def uk(*, nodes: int = 128, rows: int | None = None, seed: int = 1) -> csr_array:
    """Uk-2002 (Table 6), a web crawl in the order of URLs: ``rows`` (default: 1,562 a node) pages.

    Hosts are contiguous, with Pareto sizes. A page links within its host to pages close by and to
    index pages (size * u**3). A host's template has Poisson(3) foreign links, each on a fifth of
    the host's pages; a few more links are in no template. Foreign links go to one of the 20 next
    hosts on either side, to the front page of one of 64 hubs that eight blocks share (a reuse
    within the rack), or to a host by Zipf's law. Hosts are small, as the blocks are: a host that
    is cut by the end of a block would weigh a hundred times what it does in the real crawl.
    """
    return _crawled(UK, nodes, rows, seed)


def arabic(*, nodes: int = 128, rows: int | None = None, seed: int = 1) -> csr_array:
    """Arabic-2005 (Table 6): as ``uk``, but nearly every page has the whole of its host's template.

    Its pages have more links, mostly to pages close by.
    """
    return _crawled(ARABIC, nodes, rows, seed)


def _crawled(crawl: Crawl, nodes: int, rows: int | None, seed: int) -> csr_array:
    count = round(nodes * ROWS_OF_NODE) if rows is None else rows
    check_at_least(1, nodes=nodes, rows=count)
    check_at_least(0, seed=seed)
    rng = np.random.default_rng(seed)
    web = _Web(crawl, count, nodes, rng)
    links = [web.in_host(), web.template(), web.random()]
    pages, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    return assembled(pages, targets, count, seed=seed)


class _Web:
    def __init__(self, crawl: Crawl, count: int, nodes: int, rng: np.random.Generator) -> None:
        self.crawl, self.rng = crawl, rng
        self.sizes = self._sizes(count)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.pages = np.arange(count)
        self.host = np.repeat(np.arange(self.sizes.size), self.sizes)
        # Hubs of each neighbourhood, and hosts by popularity.
        self.neighbourhood = self.pages * math.ceil(nodes / HUB_NODES) // count
        self.hubs = rng.integers(self.sizes.size, size=(math.ceil(nodes / HUB_NODES), HUBS))
        weights = np.arange(1, self.sizes.size + 1) ** -crawl.zipf
        self.popularity = np.cumsum(weights) / weights.sum()
        self.by_popularity = rng.permutation(self.sizes.size)

    def _sizes(self, count: int) -> Ints:
        """Of hosts until ``count`` pages are full, the last one cut off."""
        alpha, mean = self.crawl.alpha, self.crawl.mean
        shares = 1 - self.rng.random(2 * math.ceil(count / mean) + 64)
        draws = (alpha - 1) / alpha * shares ** (-1 / alpha)
        sizes = np.ceil(mean * np.minimum(draws, self.crawl.cap)).astype(np.int64)
        ends = np.minimum(np.cumsum(np.tile(sizes, 1 + count // int(sizes.sum()))), count)
        return np.diff(ends, prepend=0)[: np.searchsorted(ends, count) + 1]

    def in_host(self) -> tuple[Ints, Ints]:
        """Links to pages close by and to the host's first ones, its index."""
        rng, crawl = self.rng, self.crawl
        pages = np.repeat(self.pages, rng.poisson(crawl.degree, self.pages.size))
        hosts = self.host[pages]
        starts, sizes = self.starts[hosts], self.sizes[hosts]
        index = starts + _power(rng, sizes)
        steps = rng.geometric(1 / crawl.distance, pages.size) * rng.choice([-1, 1], pages.size)
        close = np.clip(pages + steps, starts, starts + sizes - 1)
        return pages, np.where(rng.random(pages.size) < crawl.near, close, index)

    def template(self) -> tuple[Ints, Ints]:
        """Foreign links that many pages of a host have in common."""
        hosts = np.repeat(
            np.arange(self.sizes.size), self.rng.poisson(TEMPLATE_LINKS, self.sizes.size)
        )
        targets = self._foreign(self.starts[hosts], index=True)
        lengths = self.sizes[hosts]
        before = np.cumsum(lengths) - lengths
        pages = np.arange(lengths.sum()) + np.repeat(self.starts[hosts] - before, lengths)
        taken = self.rng.random(pages.size) < self.crawl.taken
        return pages[taken], np.repeat(targets, lengths)[taken]

    def random(self) -> tuple[Ints, Ints]:
        """Foreign links of single pages."""
        pages = np.repeat(self.pages, self.rng.poisson(self.crawl.random, self.pages.size))
        return pages, self._foreign(pages, index=False)

    def _foreign(self, pages: Ints, *, index: bool) -> Ints:
        """A foreign page for each of ``pages``: a hub's front page, one of an index, or any."""
        rng, crawl, hosts = self.rng, self.crawl, self.sizes.size
        steps = rng.integers(1, NEIGHBOURS + 1, pages.size) * rng.choice([-1, 1], pages.size)
        near = (self.host[pages] + steps) % hosts
        hub = self.hubs[self.neighbourhood[pages], rng.integers(HUBS, size=pages.size)]
        rank = np.searchsorted(self.popularity, rng.random(pages.size)).clip(max=hosts - 1)
        kind = rng.random(pages.size)
        is_near, is_hub = kind < crawl.near_host, kind >= 1 - crawl.hub
        chosen = np.select([is_near, is_hub], [near, hub], self.by_popularity[rank])
        sizes = self.sizes[chosen]
        page = _power(rng, sizes) if index else rng.integers(sizes)
        return self.starts[chosen] + np.where(is_hub, 0, page)


def _power(rng: np.random.Generator, sizes: Ints) -> Ints:
    return (sizes * rng.random(sizes.size) ** INDEX_POWER).astype(np.int64)
