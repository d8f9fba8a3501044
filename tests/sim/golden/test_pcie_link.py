"""Compares the link's arithmetic with figures of the specification and of the paper."""

import pytest

from sim.golden.pcie_link import (
    BEST_CASE,
    aligned,
    completion_bytes,
    merged,
    naive,
    read_bytes,
    traffic,
    under_way,
    write_bytes,
)

ROWS = range(1028, 1048, 4)


def test_packets():
    assert (completion_bytes(4), completion_bytes(256)) == (24, 276)
    assert (read_bytes(), write_bytes(256)) == (24, 280)
    assert round(float(100 * BEST_CASE), 1) == 92.8


@pytest.mark.parametrize(
    ("order", "requests", "shares"),
    [
        (naive, (14.4, 14.8), (82, 83)),
        (aligned, (9.0, 9.1), (90, 91)),
        (merged, (3.0, 3.0), (98, 98)),
    ],
)
def test_rows_of_figure_8(order, requests, shares):
    """Rows of 1,028 to 1,044 bytes have the specification's figures, to their last digit."""
    result = [traffic(order, row) for row in ROWS]
    counts = [item.requests for item in result]
    assert (min(counts), max(counts)) == pytest.approx(requests, abs=0.06)
    percent = [round(100 * item.share) for item in result]
    assert (min(percent), max(percent)) == shares


@pytest.mark.parametrize("order", [naive, aligned])
def test_rows_of_whole_lines(order):
    result = traffic(order, 1024)
    assert result.requests == 8
    assert round(result.share, 3) == 0.932


@pytest.mark.parametrize(
    ("row", "lines", "dwords"), [(4, 8, 18), (16, 33, 48), (64, 82, 82), (256, 93, 100)]
)
def test_small_rows(row, lines, dwords):
    """Each row lies in a place of its own, so that none lies in two lines."""
    stride = max(row, 32)
    assert round(100 * traffic(aligned, row, stride).share) == lines
    assert round(100 * traffic(merged, row, stride).share) == dwords


def test_reads_under_way():
    assert round(under_way(128, 1.5e-6)) == 171
    assert round(under_way(512, 1.5e-6)) == 43


@pytest.mark.parametrize("order", [naive, aligned, merged])
def test_every_byte_is_read(order):
    for start in range(0, 512, 4):
        for row in (4, 60, 128, 1044):
            read = [at for span in order(start, start + row) for at in range(*span)]
            assert len(read) == len(set(read))
            assert set(read) >= set(range(start, start + row))


def test_rows_that_overlap():
    with pytest.raises(ValueError, match="none overlap"):
        traffic(merged, 6, 4)


def test_the_paper_s_example_of_a_row():
    """The second row of 480 bytes takes 8 reads as warps are, 5 after the circular shift."""
    lines = [(480, 512), (512, 640), (640, 768), (768, 896), (896, 960)]
    assert list(aligned(480, 960)) == lines
    result = list(naive(480, 960))
    assert len(result) == 8
    assert [a for a, _ in result[1:]] == [b for _, b in result[:-1]]  # no sector is read twice
