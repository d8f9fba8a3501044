"""Defines NetSparse's packets and property requests: every header, once."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from collections.abc import Mapping

from amaranth.lib import data, enum

from hdl.common.packets import BEAT_BYTES

#: Ethernet priorities of the two classes, reads and responses with errors (IEEE 802.1Q), which are
#: paused separately. A packet has no VLAN tag: its DSCP is the priority's class selector (RFC
#: 2474), from which a switch that trusts DSCP takes the priority.
PRIORITIES = (3, 4)


def dscp_ecn(priority: int) -> int:
    """Return the IPv4 header's byte with the DSCP, whose upper three bits are the priority."""
    return priority << 5


class Kind(enum.Enum, shape=2):
    """Names the kinds of property requests (PRs), as in the type field of a packet."""

    READ = 1
    RESPONSE = 2
    ERROR = 3  #: a response without a property


def wire_layout(fields: Mapping[str, int]) -> data.StructLayout:
    """Lay out big-endian ``fields`` (bits by name, in the order of the wire) as one number.

    The first byte on the wire is the number's most significant, so the fields are laid out from
    the last one up.
    """
    return data.StructLayout(dict(reversed(list(fields.items()))))


#: Lays out the upper layers: Ethernet 14, IPv4 20, UDP 8 and 8 reserved bytes.
UPPER_LAYERS = wire_layout(
    {
        "destination_mac": 48,
        "source_mac": 48,
        "ethertype": 16,
        "version_ihl": 8,
        "dscp_ecn": 8,
        "total_length": 16,  # from version_ihl to the end of the packet
        "identification": 16,
        "flags_fragment": 16,
        "ttl": 8,
        "protocol": 8,
        "ip_checksum": 16,
        "source_ip": 32,
        "destination_ip": 32,
        "source_port": 16,
        "destination_port": 16,
        "udp_length": 16,  # from source_port to the end of the packet
        "udp_checksum": 16,  # zero: none
        "reserved": 64,
    }
)

#: Lays out the fields that all PRs of a packet share (NetSparse, figure 6).
CONCATENATION_LAYER = wire_layout(
    {
        "type": 16,  # a Kind
        "dest": 32,  # number of the destination node
        "len": 32,  # bytes of a property, also in reads
        "prs": 32,  # number of PRs that follow
    }
)

#: Lays out a PR (figure 6); a response's property follows it.
PR_LAYER = wire_layout(
    {
        "src": 32,  # node that requests; in responses the node that owns the idx
        "tid": 16,  # RIG unit of the requesting node
        "idx": 64,
        "id": 32,  # chosen by the requesting unit; copied to the response
    }
)

UPPER_BYTES = UPPER_LAYERS.size // 8
PR_BYTES = PR_LAYER.size // 8
PACKET_HEADER_BYTES = UPPER_BYTES + CONCATENATION_LAYER.size // 8
assert (UPPER_BYTES, PR_BYTES, PACKET_HEADER_BYTES) == (50, 18, BEAT_BYTES)

#: Lays out the first beat of every packet.
PACKET_HEADER = data.StructLayout({"concatenation": CONCATENATION_LAYER, "upper": UPPER_LAYERS})

#: fields with the same value in all NetSparse packets, some of which identify them
PACKET_CONSTANTS = {
    "ethertype": 0x0800,
    "version_ihl": 0x45,
    "ttl": 64,
    "protocol": 17,
    "source_port": 0x4E53,
    "destination_port": 0x4E53,
}
DO_NOT_FRAGMENT = 0x4000  #: flags_fragment of packets sent; received packets may have another
IP_OFFSET = 14  #: bytes before version_ihl
UDP_OFFSET = 34  #: bytes before source_port

LENGTH_BITS = 13  #: width of the number of a property's bytes, up to 4,096
MAX_PROPERTY_BYTES = 4096


def pr_beat(*, payload: bool) -> data.StructLayout:
    """Describe a PR inside the hardware, before it is put into a packet or after.

    ``dest`` is the packet's destination, ``length`` its ``len``. Without ``payload`` it is a read,
    in one beat. With it, a response in beats of 64 bytes, byte 0 of the property in the lowest bits
    of the first, or an error in one beat; all other fields are the same in every beat. Bytes after
    the end of a property in its last beat are undefined.
    """
    fields = {"dest": 32, "length": LENGTH_BITS, "pr": PR_LAYER}
    if payload:
        fields |= {"error": 1, "last": 1, "data": 8 * BEAT_BYTES}
    return data.StructLayout(fields)


READ_PR = pr_beat(payload=False)
RESPONSE_BEAT = pr_beat(payload=True)


def in_group(beat: data.StructLayout) -> data.StructLayout:
    """Describe a ``beat`` of a PR of a group, the PRs that came in one packet.

    ``starts`` is valid with the first beat of a PR, ``ends`` with its last one.
    """
    return data.StructLayout(beat.members | {"starts": 1, "ends": 1})
