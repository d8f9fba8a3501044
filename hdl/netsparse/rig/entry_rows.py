"""Computes where an idx may be in the Pending PR Table: one row in each way, by a hash."""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Value

DIGIT = 4  #: bits of a digit, an element of GF(16)
REDUCTION = 0b10011  #: x^4 + x + 1, of which x is a primitive element
MAX_ROWS = 1 << DIGIT
MAX_WAYS = 1 << DIGIT  #: most ways with different rows

Bits = list  #: a digit's bits, lowest first: Python's numbers, or Amaranth's values


def product(factor: int, digit: int) -> int:
    """Return ``factor`` times ``digit`` in GF(16)."""
    built = 0
    for bit in range(DIGIT):
        if digit >> bit & 1:
            built ^= factor << bit
    for bit in reversed(range(DIGIT, 2 * DIGIT)):
        if built >> bit & 1:
            built ^= REDUCTION << (bit - DIGIT)
    return built


def multiple(factor: int, digit: Bits) -> Bits:
    """Return ``factor`` times ``digit`` in GF(16): each bit is the parity of some of its bits."""
    columns = [product(factor, 1 << bit) for bit in range(DIGIT)]
    return [
        [item for item, column in zip(digit, columns, strict=True) if column >> bit & 1]
        for bit in range(DIGIT)
    ]


def parity(bits: Bits) -> Value | int:
    """Return whether the number of ones among ``bits`` is odd."""
    return reduce(xor, bits, 0)


def hashed(bits: Bits) -> tuple[Bits, Bits]:
    """Return the hash of an idx with these ``bits``: two digits, the sums of d_k and of x^k d_k.

    d_k are the digits of the idx, from the lowest. Idxs of up to 60 bits that differ in one or two
    digits have different sums, because these are the syndromes of a Reed-Solomon code of distance
    three.
    """
    padded = [*bits, *[0] * (-len(bits) % DIGIT)]
    digits = [padded[k : k + DIGIT] for k in range(0, len(padded), DIGIT)]
    plain: list[Bits] = [[] for _ in range(DIGIT)]
    scaled: list[Bits] = [[] for _ in range(DIGIT)]
    power = 1
    for digit in digits:
        for bit, terms in enumerate(multiple(power, digit)):
            plain[bit].append(digit[bit])
            scaled[bit] += terms
        power = product(2, power)
    return [parity(terms) for terms in plain], [parity(terms) for terms in scaled]


def row_of(hash_digits: tuple[Bits, Bits], way: int) -> Bits:
    """Return the bits of the row in ``way``: the first digit plus ``way`` times the second.

    Two idxs with different second digits share a row in at most one way.
    """
    first, second = hash_digits
    terms = multiple(way, second)
    return [parity([item, *some]) for item, some in zip(first, terms, strict=True)]


def rows_of(hash_value: Value, ways: int, row_bits: int) -> list[Value]:
    """Return the row in each way, in hardware, of an idx with the hash ``digits``."""
    digits = list(hash_value[:DIGIT]), list(hash_value[DIGIT:])
    return [Cat(row_of(digits, way))[:row_bits] for way in range(ways)]


def hash_of(idx: Value) -> Value:
    """Return the hash of ``idx``, in hardware: both digits, the first one lowest."""
    first, second = hashed(list(idx))
    return Cat(*first, *second)
