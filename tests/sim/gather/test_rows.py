"""Compares the golden model of a gather with slices of memory, and its reads with the paper."""

import numpy as np
import pytest

from sim.gather.golden.rows import Table, gather, reads
from sim.golden.pcie_link import aligned, merged, naive


@pytest.mark.parametrize("row_bytes", range(4, 4100, 124))
@pytest.mark.parametrize("offset", [0, 4, 60, 124])
def test_rows_are_slices_of_memory(row_bytes, offset):
    memory = np.random.default_rng(row_bytes).integers(0, 256, 20000, dtype=np.uint8)
    table = Table(base=offset, rows=4, row_bytes=row_bytes, stride=row_bytes + offset)
    result = gather(memory, table, [3, 0, 4, 3])
    starts = [offset + idx * (row_bytes + offset) for idx in (3, 0, 3)]
    slices = [memory[start : start + row_bytes].tobytes() for start in starts]
    assert result == [slices[0], slices[1], None, slices[2]]


@pytest.mark.parametrize(("order", "count"), [(naive, 8), (aligned, 5), (merged, 2)])
def test_reads_are_as_many_as_in_the_paper(order, count):
    """Row 1 of 480 bytes, section 3.2.1: 8 reads before the circular shift, 5 after it."""
    table = Table(base=0, rows=2, row_bytes=480, stride=480)
    result = reads(table, [1], order)
    assert len(result) == count
    assert result[0][0] <= 480
    assert sum(result[-1]) >= 960
