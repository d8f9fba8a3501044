"""Tests where idxs may be in the Pending PR Table: rows are even, and seldom all the same."""

import random
from itertools import combinations

import numpy as np
import pytest

from hdl.netsparse.rig.entry_rows import MAX_WAYS, hashed, product, row_of

DIGITS = range(16)


def number(bits):
    """Return the number, or the array of numbers, with these bits, the lowest first."""
    return sum(bit << place for place, bit in enumerate(bits))


def digits_of(idxs):
    """Return the digits of the hash of each of an array of idxs, as their bits."""
    return hashed([idxs >> bit & 1 for bit in range(63)])


def test_digits_are_a_field():
    for a in DIGITS:
        assert product(a, 1) == a
        assert sorted(product(a, b) for b in DIGITS) == (sorted(DIGITS) if a else [0] * 16)
        for b in DIGITS:
            assert product(a, b) == product(b, a)
            assert all(product(a, b ^ c) == product(a, b) ^ product(a, c) for c in DIGITS)
            assert all(product(product(a, b), c) == product(a, product(b, c)) for c in DIGITS)


def test_idxs_that_differ_in_two_digits_differ_in_their_hash():
    base, digits = random.getrandbits(60), np.arange(16)
    for item, other in combinations(range(15), 2):
        near = base ^ digits[:, None] << 4 * item ^ digits << 4 * other
        first, second = digits_of(near)
        assert len(np.unique(number([*first, *second]))) == near.size


@pytest.mark.parametrize("rows", [2, 4, 8, 16])
def test_rows_of_a_way_are_used_evenly(rows):
    digits = digits_of(np.arange(256))
    for path in range(MAX_WAYS):
        result = number(row_of(digits, path)) % rows
        assert np.bincount(result).tolist() == [256 // rows] * rows


def test_idxs_of_one_row_in_two_ways_have_one_hash():
    digits = digits_of(np.array(random.sample(range(1 << 40), 200)))
    hashes = number([*digits[0], *digits[1]])
    rows = np.array([number(row_of(digits, path)) for path in range(MAX_WAYS)])
    met = (rows[:, :, None] == rows[:, None]).sum(axis=0)
    assert np.all((met <= 1) | (hashes[:, None] == hashes))
