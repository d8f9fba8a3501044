"""Computes the beats of 64 bytes that PRs take in an output queue."""

from amaranth.hdl import Value
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import looked_up
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import PR_BYTES

READ_COST = 2  #: beats of a packet with one read or one error: the header and the PR


def response_beats(property_bytes: int) -> int:
    """Return the number of beats of a packet with one response."""
    return 1 + -(-(PR_BYTES + property_bytes) // BEAT_BYTES)


def cost_of(property_bytes: Value, bits: int) -> Value:
    """Return, in hardware, the number of beats of a packet with one response, in ``bits`` bits.

    It is looked up, so that only the next computation on the path has a carry chain.
    """
    beat_bits = ceil_log2(BEAT_BYTES)
    whole = property_bytes[beat_bits:][:bits]
    # A PR leaves 46 bytes in its first beat; of multiples of 4, those from 48 on do not fit.
    more = property_bytes[beat_bits - 2 : beat_bits].all()
    return looked_up(lambda whole, more: whole + 2 + more, whole, more, bits=bits)
