import math
from dataclasses import replace

import numpy as np
import pytest

from sim.netsparse.golden.redundancy import redundancy
from sim.workloads.files import InputError
from sim.workloads.matrix_families.webs import ARABIC, UK, Crawl, _Web, arabic, uk


@pytest.mark.parametrize("crawl", [UK, ARABIC])
@pytest.mark.parametrize("count", [1, 30, 5000])
def test_hosts_fill_the_crawl(crawl: Crawl, count: int) -> None:
    web = _Web(crawl, count, 8, np.random.default_rng(1))
    assert web.sizes.sum() == count
    assert web.sizes.min() >= 1
    assert web.sizes.max() <= np.ceil(crawl.mean * crawl.cap)
    assert web.starts.tolist() == (np.cumsum(web.sizes) - web.sizes).tolist()
    blocks = range(0, count, -(-count // 8))
    assert set(blocks) <= set(web.starts.tolist())


def test_links_stay_in_their_host() -> None:
    web = _Web(UK, 5000, 8, np.random.default_rng(2))
    pages, targets = web.in_host()
    assert np.array_equal(web.host[pages], web.host[targets])
    assert pages.size == pytest.approx(5000 * UK.degree, rel=0.02)


def test_portals_are_near_and_hubs_are_the_same_for_a_neighbourhood() -> None:
    """Of 16 blocks, half are a neighbourhood; here all foreign links go to portals and hubs."""
    crawl = replace(UK, portal=0.4, hub=0.6)
    web = _Web(crawl, 40_000, 16, np.random.default_rng(5))
    root = math.sqrt(40_000 / 16)
    assert web.portals.shape == (2, round(UK.portals * root))
    assert web.hubs.shape == (2, round(UK.hubs * root))
    half = web.host[20_000]
    assert web.portals[0].max() < half <= web.portals[1].min()
    for pages, targets in web.foreign():
        first = pages < 20_000
        for place, own in enumerate((first, ~first)):
            linked = np.unique(web.host[targets[own]])
            assert set(linked) == {*web.portals[place], *web.hubs[place]}
        offsets = targets - web.starts[web.host[targets]]
        assert offsets.max() + 1 == round(UK.known * root)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"portal": 0.6, "hub": 0.5}, r"portal \+ hub must be between 0 and 1, not 1\.1"),
        ({"hub": -0.1}, r"hub must be between 0 and 1, not -0\.1"),
        ({"known": -1}, "known must be at least 0, not -1"),
    ],
)
def test_refuses(options: dict[str, float], says: str) -> None:
    for family in (uk, arabic):
        with pytest.raises(InputError, match=says):
            family(nodes=2, rows=99, **options)


def test_pages_share_their_template_and_link_deeper_into_its_hosts() -> None:
    crawl = replace(UK, directory=math.inf)
    web = _Web(crawl, 5000, 8, np.random.default_rng(3))
    (pages, targets), (deep_pages, deep_targets) = web.foreign()
    for host in range(web.sizes.size):
        own = np.unique(targets[web.host[pages] == host])
        assert own.size <= 12  # of Poisson(4), however many pages
        deep = deep_targets[web.host[deep_pages] == host]
        assert set(web.host[deep]) <= set(web.host[own])
    assert pages.size == pytest.approx(5000 * UK.template * UK.taken, rel=0.25)


def test_directories_link_to_more_hosts_than_their_partners() -> None:
    web = _Web(UK, 200_000, 8, np.random.default_rng(3))
    _, (pages, targets) = web.foreign()
    links = np.bincount(web.host[pages], minlength=web.sizes.size)
    linked = np.unique(np.stack([web.host[pages], web.host[targets]]), axis=1)[0]
    partners = np.bincount(linked, minlength=web.sizes.size)
    wide = partners > 14  # more than Poisson(4) has
    eager = links / web.sizes / UK.deep
    assert wide.any()
    assert eager[wide].min() > UK.directory / 2
    assert (eager[~wide & (links > 100)] < 2 * UK.directory).all()


def test_templates_of_some_hosts_name_many_pages_of_a_partner() -> None:
    web = _Web(ARABIC, 200_000, 8, np.random.default_rng(3))
    (pages, targets), _ = web.foreign()
    of_host = np.unique(np.stack([web.host[pages], targets]), axis=1)[0]
    names = np.bincount(of_host, minlength=web.sizes.size)
    partners = np.unique(np.stack([web.host[pages], web.host[targets]]), axis=1)[0]
    assert np.bincount(partners).max() <= 12  # of Poisson(2)
    assert names.max() > 10 * names.mean()


def test_hosts_differ_in_their_deep_links() -> None:
    """By Pareto, the host with most per page has many times the mean, which is as asked."""
    web = _Web(UK, 200_000, 8, np.random.default_rng(4))
    _, (pages, _) = web.foreign()
    of_page = np.bincount(web.host[pages], minlength=web.sizes.size) / web.sizes
    large = web.sizes > 100
    assert pages.size == pytest.approx(200_000 * UK.deep, rel=0.1)
    assert 5 < of_page[large].max() / UK.deep < UK.cap


@pytest.mark.parametrize("nodes", [16, 64])
def test_uk(nodes: int) -> None:
    """The paper at 128 nodes has 16.1 nonzeros a row, .045 remote, 1:966, 1:4.5; Table 4: 5.61."""
    result = redundancy(uk(nodes=nodes), nodes)
    assert result.rows == nodes * 1562.5
    assert result.nonzeros_per_row == pytest.approx(16.1, abs=0.5)
    assert result.share_remote == pytest.approx(0.045, abs=0.006)  # at 16 nodes more is local
    assert (1 + result.su) * 127 / (nodes - 1) == pytest.approx(967, rel=0.2 if nodes < 64 else 0.1)
    assert result.sa == pytest.approx(4.5, abs=0.5)
    assert result.destinations == pytest.approx(5.61, abs=1 if nodes < 64 else 0.3)
    assert result.share_shared == pytest.approx(0.86, abs=0.05)  # mean of all matrices: .85


def test_a_larger_uk_has_the_same_character() -> None:
    """Links to other blocks do not become local ones as blocks grow."""
    result = redundancy(uk(nodes=16, rows=4 * 25_000), 16)
    assert result.share_remote == pytest.approx(0.044, abs=0.003)
    assert result.sa == pytest.approx(4.5, abs=0.5)
    assert (1 + result.su) * 127 / 15 == pytest.approx(967, rel=0.2)
    assert result.destinations == pytest.approx(5, abs=0.5)


@pytest.mark.parametrize("nodes", [32, 64])
def test_arabic(nodes: int) -> None:
    """The paper at 128 nodes has 28.1 nonzeros a row, .065 remote, 1:1947, 1:27; Table 4: 2.51."""
    result = redundancy(arabic(nodes=nodes), nodes)
    assert result.nonzeros_per_row == pytest.approx(28.1, abs=1.1)
    assert result.share_remote == pytest.approx(0.06, abs=0.008)
    assert (1 + result.su) * 127 / (nodes - 1) == pytest.approx(1948, rel=0.1)
    assert result.sa == pytest.approx(27, abs=5)
    assert result.destinations == pytest.approx(2.51, abs=0.2)
    assert result.share_shared == pytest.approx(0.84, abs=0.05)
