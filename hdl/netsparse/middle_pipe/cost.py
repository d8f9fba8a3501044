"""Computes what PRs take of an output queue, in beats of 64 bytes."""

from amaranth.hdl import Value, ValueLike

from hdl.common.arithmetic import low_bits
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import PR_BYTES

READ_COST = 2  #: beats of a packet with one read, or with an error: the header and the PR


def response_beats(property_bytes: int) -> int:
    """Return the number of beats of a packet with one response."""
    return 1 + -(-(PR_BYTES + property_bytes) // BEAT_BYTES)


def cost_of(property_bytes: Value, bits: int) -> ValueLike:
    """Return, in hardware, the number of beats of a packet with one response."""
    whole = (property_bytes + (PR_BYTES + 2 * BEAT_BYTES - 1)) >> 6
    return low_bits(whole, bits)
