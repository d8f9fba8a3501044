"""Generates web crawls: the families of uk-2002 and arabic-2005."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from sim.workloads.matrix_families.pattern import (
    Ints,
    assembled,
    check_at_least,
    check_shares,
    ranges,
)

ROWS_OF_NODE = 1562.5
HUB_NODES = 8  #: blocks of a neighbourhood, which share portals and hubs
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
    portal: float  #: share of foreign links to a portal, a host of the neighbourhood
    hub: float  #: share of foreign links to a hub, a host anywhere
    portals: float  #: of a neighbourhood, for the root of the pages of a block
    hubs: float  #: likewise
    known: float  #: pages of a portal or hub that others link to, likewise
    zipf: float  #: exponent of the hosts' popularity, for the remaining ones
    deep: float  #: links of a page to pages of its host's partners, in the mean
    directory: float  #: this many times the mean's deep links make a host a directory
    uneven_template: bool  #: whether templates also name further pages of a partner


UK = Crawl(
    alpha=1.93, mean=144, cap=78, degree=19.1, near=0.3, distance=4, template=4.05, taken=0.143,
    portal=0.53, hub=0.42, portals=0.31, hubs=0.57, known=0.47, zipf=0.8, deep=0.21,
    directory=12, uneven_template=False,
)  # fmt: skip
ARABIC = Crawl(
    alpha=1.6, mean=92, cap=85, degree=59, near=0.95, distance=7, template=2.05, taken=0.98,
    portal=0.68, hub=0.27, portals=0.093, hubs=0.174, known=0.73, zipf=1.2, deep=0.118,
    directory=24, uneven_template=True,
)  # fmt: skip


def uk(
    *,
    nodes: int = 128,
    rows: int | None = None,
    portal: float = UK.portal,
    hub: float = UK.hub,
    known: float = UK.known,
    seed: int = 1,
) -> csr_array:
    """Generate a crawl like uk-2002 (Table 6): ``rows`` (default: 1,562 a node) pages in URL order.

    Hosts are contiguous, with Pareto sizes. A page links within its host to pages close by and to
    index pages (size * u**3). A host has partners, in the mean 4: with probability ``portal`` a
    portal, one of some hosts of its neighbourhood of eight blocks; with probability ``hub`` a hub,
    one of some hosts anywhere that the neighbourhood has in common; else any host, by Zipf's law.
    Links go to ``known`` pages, times the root of a block's pages, of a portal or hub, and to any
    page of other hosts. So nodes of a rack want the same pages, as section 3 says.

    A host's template has a link to a page of each partner, which a seventh of its pages have; and
    its pages have deep links to its partners' pages, on some hosts many times as many as on others
    (Pareto), so that nodes differ in what they want. Hosts with most of them are directories,
    whose deep links go to hosts as partners are drawn, a new one for each. No host is cut by the
    end of a block: in the real crawl blocks are a thousand times as large as hosts, here a cut one
    would weigh a hundred times what it does there.
    """
    crawl = replace(UK, portal=portal, hub=hub, known=known)
    return _crawled(crawl, nodes, rows, seed)


def arabic(
    *,
    nodes: int = 128,
    rows: int | None = None,
    portal: float = ARABIC.portal,
    hub: float = ARABIC.hub,
    known: float = ARABIC.known,
    seed: int = 1,
) -> csr_array:
    """Generate a crawl like arabic-2005 (Table 6): as ``uk``, with all of a template on most pages.

    Its pages have more links, mostly to pages close by. Some hosts' templates name many more pages
    of their partners than others', by the same Pareto law, which brings Table 4 to the paper's.
    """
    crawl = replace(ARABIC, portal=portal, hub=hub, known=known)
    return _crawled(crawl, nodes, rows, seed)


def _crawled(crawl: Crawl, nodes: int, rows: int | None, seed: int) -> csr_array:
    count = round(nodes * ROWS_OF_NODE) if rows is None else rows
    check_at_least(1, nodes=nodes, rows=count)
    check_at_least(0, known=crawl.known, seed=seed)
    check_shares(portal=crawl.portal, hub=crawl.hub)
    check_shares(**{"portal + hub": crawl.portal + crawl.hub})
    rng = np.random.default_rng(seed)
    web = _Web(crawl, count, nodes, rng)
    links = [*web.foreign(), web.in_host()]
    pages, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    return assembled(pages, targets, count, seed=seed)


class _Web:
    def __init__(self, crawl: Crawl, count: int, nodes: int, rng: np.random.Generator) -> None:
        self.crawl, self.rng = crawl, rng
        self.sizes = self._sizes(count, nodes)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.pages = np.arange(count)
        self.host = np.repeat(np.arange(self.sizes.size), self.sizes)
        # Portals and hubs of each neighbourhood, pages that each host shows, hosts by popularity.
        self.neighbourhood = self.pages * math.ceil(nodes / HUB_NODES) // count
        root = math.sqrt(count / nodes)
        self.portals, self.hubs = self._shared_hosts(count, math.ceil(nodes / HUB_NODES), root)
        self.known = self.sizes.copy()
        for shared in (self.portals, self.hubs):
            self.known[shared] = np.minimum(self.sizes[shared], _some(crawl.known * root))
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

    def _shared_hosts(self, count: int, places: int, root: float) -> tuple[Ints, Ints]:
        """Draw portals and hubs of each neighbourhood, large hosts more often than small ones."""
        first = np.arange(places)[:, None] * count // places
        last = np.maximum((np.arange(places)[:, None] + 1) * count // places, first + 1)
        portals = self.rng.integers(first, last, (places, _some(self.crawl.portals * root)))
        hubs = self.rng.integers(count, size=(places, _some(self.crawl.hubs * root)))
        return self.host[portals], self.host[hubs]

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
        pages = self._known(partners)
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
        """Draw links of single pages to pages of their hosts' partners, or of any host."""
        rng = self.rng
        of_page = self.crawl.deep * eager * (lengths > 0)
        pages = np.repeat(self.pages, rng.poisson(of_page[self.host]))
        hosts = self.host[pages]
        first = np.cumsum(lengths) - lengths
        partners = self.host[targets[first[hosts] + rng.integers(lengths[hosts])]]
        own = eager[hosts] < self.crawl.directory
        return pages, np.where(own, self._known(partners), self._foreign(hosts))

    def _foreign(self, owners: Ints) -> Ints:
        """Draw a foreign page for each of these hosts: of a portal, a hub or a popular host."""
        rng, crawl, hosts = self.rng, self.crawl, self.sizes.size
        place = self.neighbourhood[self.starts[owners]]
        portal, hub = (
            each[place, rng.integers(each.shape[1], size=owners.size)]
            for each in (self.portals, self.hubs)
        )
        rank = np.searchsorted(self.popularity, rng.random(owners.size)).clip(max=hosts - 1)
        kind = rng.random(owners.size)
        is_portal, is_hub = kind < crawl.portal, kind >= 1 - crawl.hub
        return self._known(np.select([is_portal, is_hub], [portal, hub], self.by_popularity[rank]))

    def _known(self, hosts: Ints) -> Ints:
        """Draw one of the pages of each of these hosts that others link to."""
        return self.starts[hosts] + self.rng.integers(self.known[hosts])


def _some(number: float) -> int:
    return max(1, round(number))


def _power(rng: np.random.Generator, sizes: Ints) -> Ints:
    return (sizes * rng.random(sizes.size) ** INDEX_POWER).astype(np.int64)
