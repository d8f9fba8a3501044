"""Models frames between the switches of a tree: sums go up in frames with four bytes more.

A frame with a sum is 64 bytes long. Its eight lanes have 37 bits each: the low 32 where P4SGD's
frame has its activations, the high five of lane k from bit 5 k on of a number of 40 bits, whose
lowest byte is byte 27 and whose others are bytes 60 to 63. All other frames are P4SGD's.
"""

from collections.abc import Sequence
from dataclasses import replace

from sim.golden.reduction.frames import BYTES, LANES, WireFrame
from sim.golden.reduction.tree_rule import SUM_BITS

LONG_BYTES = 64
LENGTHS = (BYTES, LONG_BYTES)
LOW_BITS = 32
HIGH_BITS = SUM_BITS - LOW_BITS
HALF = 1 << LOW_BITS - 1


def long_frame(frame: WireFrame, sums: Sequence[int]) -> bytes:
    """Return a frame with exact sums, of which the lowest 37 bits are sent."""
    high = sum(
        (value >> LOW_BITS) % (1 << HIGH_BITS) << HIGH_BITS * k for k, value in enumerate(sums)
    )
    low = tuple((value + HALF) % (2 * HALF) - HALF for value in sums)
    first, *others = high.to_bytes(LANES * HIGH_BITS // 8, "little")
    return replace(frame, payload=low, saturated=first).to_bytes() + bytes(others)


def read(wire: bytes) -> tuple[WireFrame, bool]:
    """Return the fields of 60 or 64 bytes, and whether it is 64, with sums in ``payload``."""
    frame = WireFrame.from_bytes(wire[:BYTES])
    if len(wire) == BYTES:
        return frame, False
    high = int.from_bytes(bytes([frame.saturated]) + wire[BYTES:], "little")
    sums = tuple(
        value % (1 << LOW_BITS) + (signed(high >> HIGH_BITS * k) << LOW_BITS)
        for k, value in enumerate(frame.payload)
    )
    return replace(frame, payload=sums, saturated=0), True


def signed(high: int) -> int:
    """Return the lowest five bits as a signed number."""
    half = 1 << HIGH_BITS - 1
    return (high + half) % (2 * half) - half


def may_go_up(frame: WireFrame, long: bool) -> bool:
    """Return whether a child may have sent it: a long sum, or what P4SGD's worker sends."""
    if frame.acked:
        return False
    return frame.is_agg if long else not frame.saturated


def may_come_down(frame: WireFrame, long: bool) -> bool:
    """Return whether a parent may have sent it: what P4SGD's switch answers."""
    is_sum = frame.is_agg and not frame.acked
    return not long and (is_sum or (frame.acked and not frame.saturated))
