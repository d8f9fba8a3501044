"""Draws numbers for random tests of SwitchGNN, extremes among them."""

import random


def some_number(bits=32):
    """Draw any number of this many bits: often 0, 1, or all ones."""
    return random.choice((0, 1, random.getrandbits(bits), (1 << bits) - 1))
