"""Describes what lies in the SNIC's rings in host memory (:mod:`hdl.common.rings`)."""

from amaranth.lib import data, enum

from hdl.common.rings import INDEX_BITS
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, WATCHDOG_BITS, RigParams

ENTRY_BYTES = 16

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


class Verdict(enum.Enum, shape=2):
    """Names what a descriptor is: legal, or why not."""

    LEGAL = 0  #: the descriptor is legal, as far as can be seen from itself
    ILLEGAL = 1  #: a field is larger than any legal one, or reserved bits are not zero
    UNREAD = 2  #: host memory answered with an error


def fetched_layout(params: RigParams) -> data.StructLayout:
    """Describe a descriptor that was read; unless it is legal only its ``tag`` means something."""
    return data.StructLayout({"verdict": Verdict, "unit": 8, "request": params.request})
