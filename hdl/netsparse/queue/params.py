"""Describes rings in host memory: what lies in them, and what the host's registers say of them."""

from amaranth.hdl import Value
from amaranth.lib import data, enum

from hdl.netsparse.rig.params import (
    COUNT_BITS,
    HOST_ADDRESS_BITS,
    TAG_BITS,
    WATCHDOG_BITS,
    RigParams,
)

DESCRIPTOR_BYTES = 64
ENTRY_BYTES = 16
INDEX_BITS = 16  #: width of the number of descriptors or entries since enabling, modulo 2 ** 16
SIZE_BITS = 4

#: Lays out IBV_WR_RIG, a work request in the request ring (NetSparse, section 5.4),
#: little-endian. What is reserved must be zero.
DESCRIPTOR = data.StructLayout(
    {
        "idx_address": 64,  # of an array of idxs, aligned to its elements
        "property_address": 64,  # where the property of idx 0 would be written; a multiple of 4
        "count": COUNT_BITS,  # of idxs
        "watchdog": WATCHDOG_BITS,  # cycles without progress that end the request; 0: never
        "property_bytes": 16,  # of each, a multiple of 4
        "tag": TAG_BITS,  # the host's name for it
        "unit": 8,  # a client unit
        "wide": 8,  # 1: idxs of 8 bytes; 0: of 4
        "reserved": 272,
    }
)

#: Lays out what became of a request, in the completion ring, little-endian.
ENTRY = data.StructLayout(
    {
        "tag": TAG_BITS,  # of the request; with DESCRIPTOR the index of the descriptor
        "unit": 8,  # who carried the request out; NO_UNIT: nobody
        "cause": 8,  # how it ended
        "consumer": INDEX_BITS,  # descriptors below this index are read: their places are free
        "reserved": 79,
        "phase": 1,  # 1 in the first round of the ring, 0 in the second, and so on
    }
)
NO_UNIT = 32


class Fault(enum.Enum, shape=2):
    """Names why a ring has stopped, until it is disabled."""

    NONE = 0
    ADDRESS = 1  #: the ring does not begin at a multiple of its bytes
    OVERRUN = 2  #: the host's index is further from ours than the ring is long
    WRITE = 3  #: host memory answered the write of a completion with an error


class Verdict(enum.Enum, shape=2):
    """Names what a descriptor is: legal, or why not."""

    LEGAL = 0  #: the descriptor is legal, as far as can be seen from itself
    ILLEGAL = 1  #: a field is larger than any legal one, or reserved bits are not zero
    UNREAD = 2  #: host memory answered with an error


#: Tells what the host says of a ring; all but ``index`` holds still while it is enabled or busy.
#: The ring has 2 ** ``size`` places from ``address`` on, which is a multiple of the ring's bytes.
#: ``index`` is the host's: how many descriptors it has written, or entries it has read, since the
#: ring was enabled, modulo 2 ** 16.
RING = data.StructLayout(
    {"enable": 1, "address": HOST_ADDRESS_BITS, "size": SIZE_BITS, "index": INDEX_BITS}
)


def fetched_layout(params: RigParams) -> data.StructLayout:
    """Describe a descriptor that was read; unless it is legal only its ``tag`` means something."""
    return data.StructLayout({"verdict": Verdict, "unit": 8, "request": params.request})


def misplaced(address: Value, mask: Value, place_bytes: int, address_bits: int) -> Value:
    """Return whether a ring does not begin at a multiple of its bytes, or cannot be addressed.

    It has ``mask`` + 1 places, a power of two.
    """
    offset_bits = place_bytes.bit_length() - 1
    low, number = address[:offset_bits], address[offset_bits:]
    return low.any() | (number & mask).any() | address[address_bits:].any()
