"""Describes what lies in the SNIC's rings in host memory (:mod:`hdl.common.rings`)."""

from amaranth.lib import data, enum

from hdl.common.rings import INDEX_BITS
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, WATCHDOG_BITS, RigParams

ENTRY_BYTES = 16

#: Lays out IBV_WR_RIG, a work request in the request ring (NetSparse, section 5.4), little-endian.
#: Reserved bits must be zero.
DESCRIPTOR = data.StructLayout(
    {
        "idx_address": 64,  # address of an array of idxs, aligned to its elements
        "property_address": 64,  # address of idx 0's property, a multiple of 4
        "count": COUNT_BITS,  # number of idxs
        "watchdog": WATCHDOG_BITS,  # cycles without progress that end the request; 0: never
        "property_bytes": 16,  # bytes of a property, a multiple of 4
        "tag": TAG_BITS,  # tag that the host gives the request
        "unit": 8,  # number of a client unit
        "wide": 8,  # 1: idxs of 8 bytes; 0: of 4
        "reserved": 272,
    }
)

#: Lays out the completion of a request in the completion ring, little-endian.
ENTRY = data.StructLayout(
    {
        "tag": TAG_BITS,  # tag of the request; with cause DESCRIPTOR, the index of the descriptor
        "unit": 8,  # unit that carried out the request; NO_UNIT: none
        "cause": 8,  # how it ended
        "consumer": INDEX_BITS,  # descriptors below this index were read: their places are free
        "reserved": 79,
        "phase": 1,  # 1 in the first round of the ring, 0 in the second, and so on
    }
)
NO_UNIT = (1 << ENTRY["unit"].width) - 1  #: where no unit did, however many there are


class Verdict(enum.Enum, shape=2):
    """Names the verdicts on a descriptor: legal, or why not."""

    LEGAL = 0  #: the descriptor by itself is legal
    ILLEGAL = 1  #: a field is larger than any legal one, or reserved bits are not zero
    UNREAD = 2  #: host memory answered with an error


def fetched_layout(params: RigParams) -> data.StructLayout:
    """Describe a descriptor that was read; unless it is legal only its ``tag`` is valid."""
    return data.StructLayout({"verdict": Verdict, "unit": 8, "request": params.request})
