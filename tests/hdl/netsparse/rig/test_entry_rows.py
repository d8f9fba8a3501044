"""Tests where idxs may be in the Pending PR Table: rows are even, and seldom all the same."""

import random
from itertools import combinations

import pytest

from hdl.netsparse.rig.entry_rows import MOST_WAYS, hashed, numbered_row, product

DIGITS = range(16)


def digits_of(idx):
    """Return the two digits of the hash, as numbers."""
    bits = [idx >> bit & 1 for bit in range(64)]
    return tuple(sum(int(bit) << k for k, bit in enumerate(digit)) for digit in hashed(bits))


def test_digits_are_a_field():
    for a in DIGITS:
        assert product(a, 1) == a
        assert sorted(product(a, b) for b in DIGITS) == (sorted(DIGITS) if a else [0] * 16)
        for b in DIGITS:
            assert product(a, b) == product(b, a)
            assert all(product(a, b ^ c) == product(a, b) ^ product(a, c) for c in DIGITS)
            assert all(product(product(a, b), c) == product(a, product(b, c)) for c in DIGITS)


def test_idxs_that_differ_in_two_digits_differ_in_their_hash():
    base = random.getrandbits(60)
    for first, second in combinations(range(15), 2):
        near = {base ^ a << 4 * first ^ b << 4 * second for a in DIGITS for b in DIGITS}
        assert len({digits_of(idx) for idx in near}) == len(near)


@pytest.mark.parametrize("rows", [2, 4, 8, 16])
def test_rows_of_a_way_are_used_evenly(rows):
    for way in range(MOST_WAYS):
        found = [numbered_row(idx, way, rows) for idx in range(256)]
        assert all(found.count(row) == 256 // rows for row in range(rows))


def test_idxs_of_one_row_in_two_ways_have_one_hash():
    idxs = random.sample(range(1 << 40), 200)
    rows = {idx: [numbered_row(idx, way, 16) for way in range(MOST_WAYS)] for idx in idxs}
    for one, other in combinations(idxs, 2):
        met = sum(a == b for a, b in zip(rows[one], rows[other], strict=True))
        assert met <= 1 or digits_of(one) == digits_of(other)
