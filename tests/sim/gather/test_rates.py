"""Checks that a gather keeps a link as busy as arithmetic says that it can be."""

from dataclasses import replace
from statistics import fmean

import pytest

from hdl.gather.params import ReadOrder
from sim.gather.rates import Requested, measure, posts_of
from sim.gather.surroundings.gather_on_host import GatherOnHostParams
from sim.surroundings.pcie.params import Split

PARAMS = GatherOnHostParams()
ROWS = 200
ROUND_TRIP = 375  #: cycles
SIZES = (1028, 1044)  #: bytes
#: of the link's best case: marks of the paper (Figure 8), and one for merged reads
SHARES = {
    ReadOrder.MERGED: (0.97, 1.0),
    ReadOrder.ALIGNED: (0.88, 0.93),
    ReadOrder.NAIVE: (0.78, 0.83),
}


def test_share_of_the_best_case():
    """Rows of odd sizes reach the share on average; none is faster than arithmetic says."""
    requested = [
        Requested(row_bytes=size, order=order, rows=ROWS) for order in SHARES for size in SIZES
    ]
    result = measure(PARAMS, requested)
    for order, (low, high) in SHARES.items():
        of_order = [item for item in result if item.requested.order is order]
        assert low <= fmean(item.share for item in of_order) <= high, of_order
        for item in of_order:
            assert item.share <= 1.02 * item.requested.model.share


def test_small_rows_and_any_order_of_completions():
    """Headers or tags are the limit; answers in any order lose nothing."""
    small, tiny, mixed = measure(
        PARAMS,
        [
            Requested(row_bytes=128, rows=5 * ROWS),
            Requested(row_bytes=64, rows=5 * ROWS),
            Requested(row_bytes=1028, rows=ROWS, split=Split.RANDOM, window=8),
        ],
    )
    assert small.of_headers >= 0.98
    carried = tiny.counts["down"] / tiny.requested.rows / tiny.link_bytes_per_cycle
    tags = PARAMS.gather.reads.tags
    assert tiny.of_headers >= 0.95 * tags * carried / ROUND_TRIP
    assert mixed.of_headers >= 0.95


def test_reads_under_way():
    """As many are under way as the host takes, once in a round trip (the paper's Figure 10)."""
    limits = [8, 32, 128]
    requested = [
        Requested(row_bytes=1024, order=ReadOrder.ALIGNED, rows=ROWS // 2, reads=k) for k in limits
    ]
    for most, result in zip(limits, measure(PARAMS, requested), strict=True):
        assert result.counts["most"] == most
        expected = most * 128 / ROUND_TRIP
        assert 0.9 * expected <= result.bytes_per_cycle <= 1.05 * expected  # rows are few


@pytest.mark.long
def test_rows_that_are_posted():
    """Packets to the host are those of the golden models, and every byte was read."""
    params = replace(PARAMS, posts=True)
    sizes = ((1028, 60, 1), (132, 200, 2))
    requested = [Requested(row_bytes=size, rows=rows, payload=code) for size, rows, code in sizes]
    for result in measure(params, requested):
        assert result.counts["writes"] == len(posts_of(result.requested))
