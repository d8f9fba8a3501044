from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.netsparse.golden.line_requests import (
    LINE_BYTES,
    LineRequest,
    line_efficiency,
    line_requests,
    request_counts,
)

STARTS = np.arange(0, LINE_BYTES, 4)[:, None]
ORDERS = pytest.mark.parametrize("aligned", [True, False])


def test_the_papers_example():
    """Figure 5 shows 480 bytes at address 480."""
    aligned = line_requests(480, 480, aligned=True)
    assert aligned == [(3, 96, 32), (4, 0, 128), (5, 0, 128), (6, 0, 128), (7, 0, 64)]
    naive = line_requests(480, 480, aligned=False)
    assert naive == [
        *((3, 96, 32), (4, 0, 96)),
        *((4, 96, 32), (5, 0, 96)),
        *((5, 96, 32), (6, 0, 96)),
        *((6, 96, 32), (7, 0, 64)),
    ]


@ORDERS
@given(address=st.integers(0, 1 << 40), size=st.integers(1, 4096))
def test_requests_are_the_property_and_nothing_else(aligned, address, size):
    requests = line_requests(address, size, aligned=aligned)
    at = address
    for line, first, count in requests:
        assert line * LINE_BYTES + first == at  # each begins where the one before ended
        assert count >= 1
        assert first + count <= LINE_BYTES
        at += count
    assert at == address + size
    assert len(requests) == request_counts(address, size, aligned=aligned)
    if aligned:
        lines = [request.line for request in requests]
        assert lines == sorted(set(lines))


@pytest.mark.parametrize(("aligned", "total"), [(True, 556_544), (False, 1_048_576)])
def test_totals_over_all_sizes_and_starts(aligned, total):
    sizes = np.arange(4, 4097, 4)
    counts = request_counts(STARTS, sizes, aligned=aligned)
    assert counts.shape == (32, 1024)
    assert counts.sum() == total


def efficiency(size, aligned):
    """Return the bytes asked over the bytes of lines, of all starts together, exactly."""
    requests = request_counts(STARTS, size, aligned=aligned).sum()
    return Fraction(size * len(STARTS), LINE_BYTES * int(requests))


def test_efficiency_of_sizes_about_1_kb():
    """It is that of all bytes over all starts; the mean of the ratios is close to it."""
    sizes = range(1024, 1045, 4)
    aligned = [efficiency(size, True) for size in sizes]
    naive = [efficiency(size, False) for size in sizes]
    assert aligned == [
        Fraction(size, 4 * requests) for size, requests in zip(sizes, range(287, 293), strict=True)
    ]
    assert naive == [
        Fraction(size, 4 * n) for size, n in zip(sizes, [504, *range(536, 541)], strict=True)
    ]
    assert [round(float(share), 3) for share in (min(aligned), max(aligned))] == [0.892, 0.894]
    assert [round(float(share), 2) for share in (min(naive), max(naive))] == [0.48, 0.51]
    for order, result in ((True, aligned), (False, naive)):
        ratios = line_efficiency(STARTS, np.array(sizes), aligned=order).mean(axis=0)
        assert np.abs(ratios - np.array(result, dtype=float)).max() < 0.01


def test_a_whole_line_is_one_request_in_both_orders():
    assert line_requests(256, 128, aligned=True) == [LineRequest(2, 0, 128)]
    assert line_requests(256, 128, aligned=False) == [LineRequest(2, 0, 128)]
    assert line_efficiency(256, 128, aligned=False) == 1
