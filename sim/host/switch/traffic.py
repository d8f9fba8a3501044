"""Draws packets that a switch may meet: those that carry the protocol on, and all others."""

from random import Random
from typing import Any

from sim.golden.reduction.allreduce import USES


def bits_of(bitmap: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [k for k in range(bitmap.bit_length()) if bitmap >> k & 1]


def choose_packet(rng: Random, slot: Any, everyone: int) -> tuple[bool, int, int]:
    """Draw the kind, by whom, of which use; every third is out of order."""
    worker = rng.choice(bits_of(everyone))
    if rng.random() < 0.33:
        use = slot.use + rng.choice((-2, -1, -1, 0, 0, 0, 1, 1, 2, rng.randrange(USES)))
        use ^= rng.choice((0, 0, 1 << rng.randrange(8)))
        return rng.random() < 0.5, worker, use % USES
    if slot.agg_bm != everyone:
        return True, rng.choice(bits_of(everyone & ~slot.agg_bm)), slot.use
    if slot.ack_bm != everyone:
        return False, rng.choice(bits_of(everyone & ~slot.ack_bm)), slot.use
    return True, worker, (slot.use + 1) % USES


def choose_payload(rng: Random, lanes: int, bits: int = 32) -> tuple[int, ...]:
    """Draw a payload: half of them extremes, so that sums leave the range on both sides."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    kind = rng.random()
    if kind < 0.5:
        return tuple(rng.choice((low, low, high, high, -1, 0, 1)) for _ in range(lanes))
    if kind < 0.6:
        return (rng.choice((low, high)),) * lanes
    return tuple(rng.randint(low, high) for _ in range(lanes))
