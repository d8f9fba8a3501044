"""Draws packets for the ends of a kernel's streams."""

import random


def packet(number, beats):
    """Draw a packet; the number is in all of its beats."""
    rest = [{"tdata": number << 400 | random.getrandbits(300)} for _ in range(beats)]
    keep = (1 << random.randint(1, 64)) - 1
    return [
        beat | {"tkeep": keep if k == beats - 1 else (1 << 64) - 1, "tlast": int(k == beats - 1)}
        for k, beat in enumerate(rest)
    ]
