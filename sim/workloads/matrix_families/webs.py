"""Generates web crawls: the families of uk-2002 and arabic-2005."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sim.workloads.matrix_families.pattern import Ints, assembled, check_at_least, ranges

ROWS_OF_NODE = 1562.5
NEIGHBOURS = 20 / ROWS_OF_NODE  #: near hosts on either side, for each row of a block
HUBS = 64 / ROWS_OF_NODE  #: of a neighbourhood, likewise
HUB_NODES = 8  #: blocks that share their hubs
INDEX_POWER = 3  #: in-host links go to page size * u**3


@dataclass(frozen=True, kw_only=True)
class Crawl:
    """Holds the numbers that distinguish one crawl from another."""

    alpha: float  #: of the Pareto distributions of pages and of deep links among hosts
    mean: float  #: mean pages of a host
    cap: float  #: largest host, as a multiple of the mean; also the limit of deep links
    degree: float  #: in-host links of a page, before repeats are merged
    near: float  #: share of in-host links to a page at a geometric distance
    distance: float  #: mean of that distance
    template: float  #: mean number of a host's partners, whose pages its template names
    taken: float  #: share of the template's links that each page has
    near_host: float  #: share of foreign links to one of the next hosts
    hub: float  #: share of foreign links to a hub
    zipf: float  #: exponent of the hosts' popularity, for the remaining ones
    deep: float  #: links of a page to any page of its host's partners, in the mean
    uneven_template: bool  #: whether templates also name further pages of a partner


UK = Crawl(
    alpha=2.2, mean=144, cap=78, degree=19.7, near=0.3, distance=4, template=4, taken=0.175,
    near_host=0.3, hub=0.6, zipf=0.8, deep=0.135, uneven_template=False,
)  # fmt: skip
ARABIC = Crawl(
    alpha=1.6, mean=92, cap=85, degree=62, near=0.95, distance=7, template=2.8, taken=0.98,
    near_host=0.6, hub=0.3, zipf=1.2, deep=0.085, uneven_template=True,
)  # fmt: skip


def uk(*, nodes: int = 128, rows: int | None = None, seed: int = 1) -> csr_array:
    """Generate a crawl like uk-2002 (Table 6): ``rows`` (default: 1,562 a node) pages in URL order.

    Hosts are contiguous, with Pareto sizes. A page links within its host to pages close by and to
    index pages (size * u**3). A host has partners, in the mean 4: hubs that eight blocks share (a
    reuse within the rack), some of the next hosts on either side, or hosts by Zipf's law. Its
    template has a link to a page of each, which a sixth of its pages have; and its pages have deep
    links to any page of its partners, on some hosts many times as many as on others (Pareto), so
    that nodes differ in what they want. No host is cut by the end
    of a block: in the real crawl blocks are a thousand times as large as hosts, here a cut one
    would weigh a hundred times what it does there.
    """
    return _crawled(UK, nodes, rows, seed)


def arabic(*, nodes: int = 128, rows: int | None = None, seed: int = 1) -> csr_array:
    """Generate a crawl like arabic-2005 (Table 6): as ``uk``, with all of a template on most pages.

    Its pages have more links, mostly to pages close by. Some hosts' templates name many more pages
    of their partners than others', by the same Pareto law, which brings Table 4 to the paper's.
    """
    return _crawled(ARABIC, nodes, rows, seed)


def _crawled(crawl: Crawl, nodes: int, rows: int | None, seed: int) -> csr_array:
    count = round(nodes * ROWS_OF_NODE) if rows is None else rows
    check_at_least(1, nodes=nodes, rows=count)
    check_at_least(0, seed=seed)
    rng = np.random.default_rng(seed)
    web = _Web(crawl, count, nodes, rng)
    links = [web.in_host(), *web.foreign()]
    pages, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    return assembled(pages, targets, count, seed=seed)


class _Web:
    def __init__(self, crawl: Crawl, count: int, nodes: int, rng: np.random.Generator) -> None:
        self.crawl, self.rng = crawl, rng
        self.sizes = self._sizes(count, nodes)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.pages = np.arange(count)
        self.host = np.repeat(np.arange(self.sizes.size), self.sizes)
        # Hubs of each neighbourhood, and hosts by popularity.
        self.neighbourhood = self.pages * math.ceil(nodes / HUB_NODES) // count
        hubs = max(1, round(HUBS * count / nodes))
        self.hubs = rng.integers(self.sizes.size, size=(math.ceil(nodes / HUB_NODES), hubs))
        self.neighbours = max(1, round(NEIGHBOURS * count / nodes))
        weights = np.arange(1, self.sizes.size + 1) ** -crawl.zipf
        self.popularity = np.cumsum(weights) / weights.sum()
        self.by_popularity = rng.permutation(self.sizes.size)

    def _pareto(self, count: int) -> np.ndarray:
        """Draw Pareto numbers of mean 1, of which the largest are cut off."""
        alpha = self.crawl.alpha
        draws = (alpha - 1) / alpha * (1 - self.rng.random(count)) ** (-1 / alpha)
        return np.minimum(draws, self.crawl.cap)

    def _sizes(self, count: int, nodes: int) -> Ints:
        """Draw sizes of hosts until ``count`` pages are full; a host ends where a block does."""
        mean = self.crawl.mean
        sizes = np.ceil(mean * self._pareto(2 * math.ceil(count / mean) + 64)).astype(np.int64)
        ends = np.cumsum(np.tile(sizes, 1 + count // int(sizes.sum())))
        blocks = np.minimum(np.arange(1, nodes + 1) * math.ceil(count / nodes), count)
        return np.diff(np.union1d(ends[ends < count], blocks), prepend=0)

    def in_host(self) -> tuple[Ints, Ints]:
        """Draw links to pages close by and to the first pages of the host, its index."""
        rng, crawl = self.rng, self.crawl
        pages = np.repeat(self.pages, rng.poisson(crawl.degree, self.pages.size))
        hosts = self.host[pages]
        starts, sizes = self.starts[hosts], self.sizes[hosts]
        index = starts + _power(rng, sizes)
        steps = rng.geometric(1 / crawl.distance, pages.size) * rng.choice([-1, 1], pages.size)
        close = np.clip(pages + steps, starts, starts + sizes - 1)
        return pages, np.where(rng.random(pages.size) < crawl.near, close, index)

    def foreign(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Draw links of the hosts' templates to their partners, and deep links to these."""
        lengths = self.rng.poisson(self.crawl.template, self.sizes.size)
        hosts = np.repeat(np.arange(self.sizes.size), lengths)
        targets = self._foreign(hosts)
        eager = self._pareto(lengths.size)  # how many times the mean's links a host has
        deep = self._deep(lengths, targets, eager)
        if self.crawl.uneven_template:
            hosts, targets = self._more_pages(hosts, targets, eager)
        return self._template(hosts, targets), deep

    def _more_pages(self, hosts: Ints, targets: Ints, eager: np.ndarray) -> tuple[Ints, Ints]:
        """Replace one page of a partner by several pages, or by none."""
        copies = self.rng.poisson(eager[hosts])
        partners = np.repeat(self.host[targets], copies)
        pages = self.starts[partners] + _power(self.rng, self.sizes[partners])
        some = copies > 0
        pages[(np.cumsum(copies) - copies)[some]] = targets[some]
        return np.repeat(hosts, copies), pages

    def _template(self, hosts: Ints, targets: Ints) -> tuple[Ints, Ints]:
        """Draw foreign links that many pages of a host have in common."""
        sizes = self.sizes[hosts]
        pages = ranges(self.starts[hosts], sizes)
        taken = self.rng.random(pages.size) < self.crawl.taken
        return pages[taken], np.repeat(targets, sizes)[taken]

    def _deep(self, lengths: Ints, targets: Ints, eager: np.ndarray) -> tuple[Ints, Ints]:
        """Draw links of single pages to any page of one of their host's partners."""
        rng = self.rng
        of_page = self.crawl.deep * eager * (lengths > 0)
        pages = np.repeat(self.pages, rng.poisson(of_page[self.host]))
        hosts = self.host[pages]
        first = np.cumsum(lengths) - lengths
        partners = self.host[targets[first[hosts] + rng.integers(lengths[hosts])]]
        return pages, self.starts[partners] + rng.integers(self.sizes[partners])

    def _foreign(self, owners: Ints) -> Ints:
        """Draw a foreign page for each of these hosts: a hub's front page, or one of an index."""
        rng, crawl, hosts = self.rng, self.crawl, self.sizes.size
        steps = rng.integers(1, self.neighbours + 1, owners.size)
        near = (owners + steps * rng.choice([-1, 1], owners.size)) % hosts
        places = rng.integers(self.hubs.shape[1], size=owners.size)
        hub = self.hubs[self.neighbourhood[self.starts[owners]], places]
        rank = np.searchsorted(self.popularity, rng.random(owners.size)).clip(max=hosts - 1)
        kind = rng.random(owners.size)
        is_near, is_hub = kind < crawl.near_host, kind >= 1 - crawl.hub
        chosen = np.select([is_near, is_hub], [near, hub], self.by_popularity[rank])
        return self.starts[chosen] + np.where(is_hub, 0, _power(rng, self.sizes[chosen]))


def _power(rng: np.random.Generator, sizes: Ints) -> Ints:
    return (sizes * rng.random(sizes.size) ** INDEX_POWER).astype(np.int64)
