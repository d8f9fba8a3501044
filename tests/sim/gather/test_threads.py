"""Compares the paper's kernel, as it is played, with a slow copy of its listing."""

import numpy as np
import pytest

from sim.gather.golden.threads import FLOAT, WARP, Kernel, places, requests, traffic_of
from sim.golden.pcie_link import LINE, SECTOR, aligned, naive


def thread(i, idxs, size, shifts):
    """Return the float that thread ``i`` reads and the one that it writes, line by line."""
    row, offset = i // size, i % size
    dst_start, src_start = row * size, int(idxs[row]) * size
    dst, src = offset + dst_start, offset + src_start
    if shifts and size > WARP and size % WARP:
        diff = int(np.fmod(dst_start - src_start, WARP))  # of C, which keeps the sign
        diff = diff + WARP if diff < 0 else diff
        dst, src = dst + diff, src + diff
        if src >= src_start + size:
            dst, src = dst - size, src - size
    return src, dst


@pytest.mark.parametrize("shifts", [False, True])
@pytest.mark.parametrize("row_bytes", [4, 60, 128, 132, 480, 1028, 1044])
def test_each_thread_reads_as_the_listing_says(row_bytes, shifts):
    size, idxs = row_bytes // FLOAT, np.random.default_rng(3).integers(0, 99, 9)
    reads = [thread(i, idxs, size, shifts) for i in range(len(idxs) * size)]
    assert (places(idxs, row_bytes, shifts=shifts) == [FLOAT * src for src, _ in reads]).all()
    table = np.arange(100 * size)
    written = np.zeros(len(reads), dtype=int)
    written[[dst for _, dst in reads]] = table[[src for src, _ in reads]]
    assert (written.reshape(-1, size) == table.reshape(-1, size)[idxs]).all()


@pytest.mark.parametrize("keeps", [False, True])
def test_a_warp_reads_the_sectors_that_it_needs(keeps):
    at = places(np.random.default_rng(4).integers(0, 50, 20), 132, shifts=True)
    expected, before = [], set()
    for warp in range(0, len(at), WARP):
        sectors = {int(a) // SECTOR for a in at[warp : warp + WARP]}
        fresh, known = sorted(sectors - before if keeps else sectors), -1
        for sector in fresh:
            if sector == known + 1 and sector * SECTOR % LINE:
                expected[-1][1] += SECTOR
            else:
                expected.append([sector * SECTOR, SECTOR])
            known = sector
        before = sectors
    first, octets = requests(at, keeps=keeps)
    assert np.stack([first, octets], axis=1).tolist() == expected


@pytest.mark.parametrize(("shifts", "order"), [(False, naive), (True, aligned)])
def test_a_row_by_itself_is_read_in_its_order(shifts, order):
    """The paper's example: the second row of 480 bytes, which no warp shares with another."""
    at = places(np.array([1]), 480, shifts=shifts)
    first, octets = requests(at, keeps=not shifts)
    spans = sorted(zip(first.tolist(), (first + octets).tolist(), strict=True))
    assert spans == list(order(480, 960))


@pytest.mark.parametrize(
    ("row_bytes", "shifts", "requested"),
    [
        (1024, False, 8),
        (1024, True, 8),
        (1028, False, 16.8),
        (1028, True, 10.4),
        (132, False, 2.97),
        (132, True, 3.4),
    ],
)
def test_requests_of_a_row(row_bytes, shifts, requested):
    """The shift saves reads of large rows, and costs some of rows a little larger than a line."""
    result = traffic_of(Kernel(shifts, keeps=False), row_bytes)
    assert result.requests == pytest.approx(requested, abs=0.05)


def test_rows_of_no_floats_are_refused():
    with pytest.raises(ValueError, match="whole floats: 6"):
        traffic_of(Kernel(shifts=True, keeps=True), 6)
