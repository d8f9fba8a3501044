"""Describes rings in host memory: the host's settings of a ring, and the faults that stop it."""

from amaranth.hdl import Value
from amaranth.lib import data, enum

DESCRIPTOR_BYTES = 64  #: bytes of a work request in a request ring
INDEX_BITS = 16  #: width of the number of descriptors or entries since enabling, modulo 2 ** 16
SIZE_BITS = 4

#: Holds the host's settings of a ring. All but ``index`` must hold still while the ring is enabled
#: or busy. The ring has 2 ** ``size`` places from ``address`` on, which is a multiple of the ring's
#: bytes. ``index`` is the number of descriptors that the host has written, or of entries that it
#: has read, since the ring was enabled, modulo 2 ** 16.
RING = data.StructLayout({"enable": 1, "address": 64, "size": SIZE_BITS, "index": INDEX_BITS})


class Fault(enum.Enum, shape=2):
    """Names why a ring has stopped; it stays stopped until the host disables it."""

    NONE = 0  #: the ring has not stopped
    ADDRESS = 1  #: the ring's address is no multiple of its bytes, or too large
    OVERRUN = 2  #: the host's index is further from the hardware's than the ring is long
    WRITE = 3  #: host memory answered the write of a completion with an error


def misplaced(address: Value, mask: Value, place_bytes: int, address_bits: int) -> Value:
    """Return whether a ring does not begin at a multiple of its bytes, or cannot be addressed.

    The ring has ``mask`` + 1 places, a power of two, of ``place_bytes`` bytes each.
    """
    offset_bits = place_bytes.bit_length() - 1
    low, number = address[:offset_bits], address[offset_bits:]
    return low.any() | (number & mask).any() | address[address_bits:].any()
