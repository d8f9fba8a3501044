import numpy as np
import pytest

from sim.netsparse.golden.redundancy import redundancy
from sim.workloads.matrix_families.webs import ARABIC, UK, Crawl, _Web, arabic, uk


@pytest.mark.parametrize("crawl", [UK, ARABIC])
@pytest.mark.parametrize("count", [1, 30, 5000])
def test_hosts_fill_the_crawl(crawl: Crawl, count: int) -> None:
    web = _Web(crawl, count, 8, np.random.default_rng(1))
    assert web.sizes.sum() == count
    assert web.sizes.min() >= 1
    assert web.sizes.max() <= np.ceil(crawl.mean * crawl.cap)
    assert web.starts.tolist() == (np.cumsum(web.sizes) - web.sizes).tolist()


def test_links_stay_in_their_host() -> None:
    web = _Web(UK, 5000, 8, np.random.default_rng(2))
    pages, targets = web.in_host()
    assert np.array_equal(web.host[pages], web.host[targets])
    assert pages.size == pytest.approx(5000 * UK.degree, rel=0.02)


def test_pages_share_their_template() -> None:
    web = _Web(ARABIC, 5000, 8, np.random.default_rng(3))
    pages, targets = web.template()
    for host in range(8):
        own = targets[web.host[pages] == host]
        assert np.unique(own).size <= 9  # of Poisson(3), however many pages
    assert pages.size == pytest.approx(5000 * 3 * 0.98, rel=0.2)


@pytest.mark.parametrize("nodes", [16, 64])
def test_uk(nodes: int) -> None:
    """The paper at 128 nodes: 16.1 nonzeros a row, .045 remote, 1:966, 1:4.5; Table 4: 5.61."""
    found = redundancy(uk(nodes=nodes), nodes)
    assert found.rows == nodes * 1562.5
    assert found.nonzeros_per_row == pytest.approx(16.1, abs=0.5)
    assert found.share_remote == pytest.approx(0.043, abs=0.01)  # at 16 nodes more is local
    assert (1 + found.su) * 127 / (nodes - 1) == pytest.approx(967, rel=0.5 if nodes < 64 else 0.1)
    assert found.sa == pytest.approx(4.8, abs=0.5)
    assert found.destinations == pytest.approx(6.2, abs=0.5)


@pytest.mark.parametrize("nodes", [16, 32])
def test_arabic(nodes: int) -> None:
    """The paper at 128 nodes: 28.1 nonzeros a row, .065 remote, 1:1947, 1:27; Table 4: 2.51."""
    found = redundancy(arabic(nodes=nodes), nodes)
    assert found.nonzeros_per_row == pytest.approx(28.1, abs=0.5)
    assert found.share_remote == pytest.approx(0.065, abs=0.008)
    assert (1 + found.su) * 127 / (nodes - 1) == pytest.approx(1948, rel=0.12)
    assert found.sa == pytest.approx(27, abs=3)
    assert found.destinations == pytest.approx(3, abs=0.3)  # the recipe's is 2.85
