"""Compares products in pieces with those in one."""

import pytest

from sim.switchgnn.gcn.products import ONE_THREAD, by_rows


@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025, 5000])
def test_pieces_make_the_whole(rng, rows):
    left, right = rng.integers(-9, 9, (rows, 16)) * 1.0, rng.integers(-9, 9, (16, 16)) * 1.0
    assert ONE_THREAD // right.size == 1024
    assert (by_rows(left, right) == left @ right).all()
