"""Reads the headers in the first beat of a packet: Ethernet, an 802.1Q tag, IPv4."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from hdl.common.packets import in_lanes
from hdl.switch.forwarding.params import MAC_BITS, VID_BITS

VLAN_TYPE, IPV4_TYPE = 0x8100, 0x0800
TAG_BYTES = 4
#: bytes of an untagged packet where these fields begin
TYPE_AT, TOS_AT, CHECKSUM_AT = 12, 15, 24
RESERVED = (
    0x0180C200000  #: highest 44 bits of group addresses that no bridge forwards (802.1Q, 8.6)
)
ECN_BITS, CE = 2, 3
PCP_BITS, DSCP_BITS = 3, 6

HEADER = data.StructLayout(
    {
        "dest": MAC_BITS,
        "source": MAC_BITS,
        "tagged": 1,
        "vid": VID_BITS,
        "priority": PCP_BITS,
        "ipv4": 1,
        "dscp": DSCP_BITS,
        "ecn": ECN_BITS,
        "checksum": 16,
    }
)


def number(octets: Value, first: int, count: int = 2) -> Value:
    """Return a number of ``count`` bytes that begins at byte ``first``, the highest byte first."""
    return in_lanes(octets[8 * first : 8 * (first + count)])


def read_header(octets: Value) -> dict[str, Value]:
    """Return the fields of HEADER in the first beat of a packet."""
    tagged = number(octets, TYPE_AT) == VLAN_TYPE
    tag = number(octets, TYPE_AT + 2)

    def behind_tag(first: int, count: int = 2) -> Value:
        return Mux(tagged, number(octets, first + TAG_BYTES, count), number(octets, first, count))

    service = behind_tag(TOS_AT, 1)
    return {
        "dest": number(octets, 0, 6),
        "source": number(octets, 6, 6),
        "tagged": tagged,
        "vid": tag[:VID_BITS],
        "priority": tag[-PCP_BITS:],
        "ipv4": (behind_tag(TYPE_AT) == IPV4_TYPE) & (behind_tag(TYPE_AT + 2, 1)[4:] == 4),
        "dscp": service[ECN_BITS:],
        "ecn": service[:ECN_BITS],
        "checksum": behind_tag(CHECKSUM_AT),
    }


def mark(m: Module, octets: Value, header, congested: Value) -> Value:
    """Return the first beat, marked CE if it is ECN-capable IPv4 and there is congestion.

    The header's checksum is mended by the difference (RFC 1624, equation 3).
    """
    marks = Signal()
    partial = Signal(17)
    wraps = Signal(2)  # lowest bits of the sum with its carry, behind which all others are 0
    m.d.comb += [
        marks.eq(congested & header.ipv4 & header.ecn.any() & ~header.ecn.all()),
        partial.eq((~header.checksum)[:16] + (CE - header.ecn)[:ECN_BITS]),
        wraps.eq((partial[:2] + partial[16])[:2]),
    ]
    bits = list(Value.cast(octets))
    for tagged in (0, 1):
        applies = marks & (header.tagged == tagged)
        tos, checksum = (8 * (at + TAG_BYTES * tagged) for at in (TOS_AT, CHECKSUM_AT))
        bits[tos : tos + ECN_BITS] = [bit | applies for bit in bits[tos : tos + ECN_BITS]]
        own = Mux(
            applies, in_lanes(~Cat(wraps, partial[2:16])), Cat(bits[checksum : checksum + 16])
        )
        bits[checksum : checksum + 16] = list(Value.cast(own))
    return Cat(bits)


def is_reserved(address: Value) -> Value:
    """Return whether no bridge forwards packets to ``address``."""
    return address[4:] == Const(RESERVED, MAC_BITS - 4)
