"""Describes the sizes of a deconcatenator, its reasons to drop packets, and its layouts."""

from collections.abc import Mapping

from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Member
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range
from hdl.common.packet_buffer import PacketBufferParams
from hdl.common.packets import AXIS, BEAT_BYTES, MAX_MTU
from hdl.common.params import Params, whole
from hdl.netsparse.protocol import (
    LENGTH_BITS,
    MAX_PROPERTY_BYTES,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    READ_PR,
    RESPONSE_BEAT,
    UDP_OFFSET,
    in_group,
)

LANES = BEAT_BYTES // 2  #: lanes of two bytes; PRs and properties are a whole number of them
PR_LANES = PR_BYTES // 2
VERDICT_LATENCY = 5  #: cycles from a packet's last beat to its verdict
OWN = ("ethertype", "version_ihl", "protocol", "destination_port")
#: number of bytes of a packet up to the last field that identifies it as NetSparse's
OWN_BYTES = UDP_OFFSET + 4


class Drop(enum.Enum, shape=3):
    """Names the reasons to drop a packet; the first one that applies counts."""

    BROKEN = 0  #: the MAC has marked it as corrupt
    FOREIGN = 1  #: ethertype, version_ihl, protocol or destination_port is foreign, or cut off
    OVERSIZE = 2  #: it is longer than the MTU
    KIND = 3  #: its type is unknown, or of the other class
    DEST = 4  #: it is for another node, or for no node of the cluster
    LENGTH = 5  #: its lengths contradict each other, or it ends within its header
    SOURCE = 6  #: the src of a PR is no node


BEAT = data.StructLayout({"tdata": AXIS.data_bits, "tkeep": BEAT_BYTES, "tlast": 1, "tuser": 1})
EVENTS = data.StructLayout(
    {
        "packet": 1,  # a good packet
        "bytes": 14,  # number of its bytes
        "prs": 9,  # number of its PRs
        "drops": len(Drop),  # a bit for each Drop
    }
)


class DeconcatenatorParams(Params):
    """Sets class and sizes of a deconcatenator."""

    payload: bool  #: whether it takes responses and errors, else reads
    nodes: int = whole(2, 1 << 16)  #: number of nodes of the cluster
    mtu: int = whole(594, MAX_MTU, default=1500)  #: bytes of a packet
    #: most bytes of a PR's property; a PR of it fits the MTU
    most_property_bytes: int = whole(4, MAX_PROPERTY_BYTES, multiple_of=4, default=512)
    #: number of packets of MTU size that can wait at least
    buffer_packets: int = whole(2, 64, default=8)
    any_dest: bool = False  #: whether it takes packets for every node of the cluster
    tag_bits: int = whole(0, 64, default=0)  #: width of the tag of a packet, which its PRs get

    def __post_init__(self) -> None:
        super().__post_init__()
        most = min(MAX_PROPERTY_BYTES, self.mtu - PACKET_HEADER_BYTES - PR_BYTES) & ~3
        check_range("most_property_bytes", self.most_property_bytes, 4, most)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: class, all sizes, and the options of a switch."""
        kind = "responses" if self.payload else "reads"
        tag = f"_t{self.tag_bits}" if self.tag_bits else ""
        return (
            f"{kind}_n{self.nodes}_m{self.mtu}_p{self.most_property_bytes}_b{self.buffer_packets}"
            + "_any" * self.any_dest
            + tag
        )

    @property
    def node_port(self) -> Mapping[str, Member]:
        """Return the port for the node's number; there is none if packets may be for any node."""
        return {} if self.any_dest else {"node": In(32)}

    @property
    def word_bits(self) -> int:
        """Return the width of a beat, with tlast and the packet's tag above it."""
        return AXIS.data_bits + 1 + self.tag_bits

    @property
    def events(self) -> data.StructLayout:
        """Describe the verdict on a packet.

        With a tag it also has the fields for users that reserve room for each packet.
        """
        fields = dict(EVENTS.members)
        if self.tag_bits:
            fields |= {
                "length": LENGTH_BITS,  # the header's len, of a good packet
                "error": 1,  # a good packet is an error, which has no property
                "tag": self.tag_bits,  # tag of the packet, good or dropped
            }
        return data.StructLayout(fields)

    @property
    def beats(self) -> int:
        """Return the number of beats of a packet as long as the MTU."""
        return -(-self.mtu // BEAT_BYTES)

    @property
    def max_prs(self) -> int:
        """Return the most PRs of a packet."""
        return (self.mtu - PACKET_HEADER_BYTES) // (PR_BYTES + 4 * self.payload)

    @property
    def max_lanes(self) -> int:
        """Return the most lanes that one beat of a PR takes from its packet."""
        return PR_LANES + (min(self.most_property_bytes, BEAT_BYTES) // 2 if self.payload else 0)

    @property
    def span(self) -> int:
        """Return the number of beats of a packet that one beat of a PR may touch."""
        return (2 * LANES + self.max_lanes - 2) // LANES

    @property
    def places(self) -> int:
        """Return the number of beats that the unpacker holds."""
        return self.span + 1 + self.payload

    @property
    def buffer(self) -> PacketBufferParams:
        """Return the sizes of the buffer of packets that wait: their beats, each with tlast."""
        words = self.buffer_packets * self.beats + VERDICT_LATENCY + 2
        return PacketBufferParams(
            shape=self.word_bits, words=1 << ceil_log2(words), behind=VERDICT_LATENCY
        )

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat of a PR.

        With a tag it also has ``starts``, valid with a PR's first beat: the PR is the first of its
        packet; and ``ends``, valid with its last beat: the PR is the last.
        """
        beat = RESPONSE_BEAT if self.payload else READ_PR
        return in_group(beat) if self.tag_bits else beat

    @property
    def header(self) -> data.StructLayout:
        """Describe the fields of a packet's first beat that the verdict needs."""
        return data.StructLayout(
            {
                "foreign": 1,  # the packet is not NetSparse's
                "short": 1,  # the packet ends within the header
                "kind": 1,  # the packet is of another class
                "dest": 1,  # the packet is for another node, or for no node
                "length": 1,  # len or the number of PRs is impossible
                "error": 1,  # the packet is an error
                "prs": bits_for(self.max_prs),
                # Bytes of a PR, if its length is possible.
                "step": bits_for(PR_BYTES + self.payload * self.most_property_bytes),
                "ip_end": 17,  # number of the last byte by total_length
                "udp_end": 17,
                **({"len": LENGTH_BITS} if self.tag_bits else {}),
            }
        )

    @property
    def findings(self) -> data.StructLayout:
        """Describe the findings about a packet's beats, up to the last one."""
        return data.StructLayout(
            {
                "broken": 1,
                "over": 1,  # the packet is longer than the MTU
                "ragged": 1,  # bytes are missing before the last one
                "end": ceil_log2(BEAT_BYTES) + bits_for(self.beats),  # number of the last byte
                "header": self.header,
            }
        )

    @property
    def context(self) -> data.StructLayout:
        """Describe the fields of a packet's first beat that the unpacker needs."""
        fields = {"length": LENGTH_BITS, "prs": bits_for(self.max_prs)}
        if self.payload:
            fields |= {
                "error": 1,
                "lanes": bits_for(self.max_lanes),  # lanes of a PR's first beat
                "single": 1,  # each PR has a single beat
                "step": bits_for(self.max_lanes),  # lanes from a PR's first beat to its second one
            }
        if self.any_dest:
            fields["dest"] = bits_for(self.nodes - 1)
        if self.tag_bits:
            fields["tag"] = self.tag_bits
        return data.StructLayout(fields)
