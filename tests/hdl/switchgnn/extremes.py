"""Numbers for random tests of SwitchGNN, extremes among them."""

import random


def some_number(bits=32):
    """Any number of so many bits: often 0, 1, or all ones."""
    return random.choice((0, 1, random.getrandbits(bits), (1 << bits) - 1))
