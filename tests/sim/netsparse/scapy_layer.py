"""Describes NetSparse's packets as layers of Scapy, to inspect them, also in Wireshark."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data
from scapy.fields import BitField, BitFieldLenField, PacketListField, StrLenField, XBitField
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet as Layer
from scapy.packet import bind_bottom_up, bind_layers
from scapy.utils import wrpcap

from hdl.netsparse.protocol import (
    CONCATENATION_LAYER,
    PACKET_CONSTANTS,
    PR_LAYER,
    UPPER_LAYERS,
    Kind,
)
from sim.netsparse.wire import Packet

PORT = PACKET_CONSTANTS["destination_port"]


def fields_of(layout: data.StructLayout, replaced: Mapping[str, Any] | None = None) -> list[Any]:
    """Return the fields of a big-endian ``layout`` in the order of the wire, some ``replaced``."""
    result = []
    for name, field in sorted(layout, key=lambda item: -item[1].offset):
        plain = BitField(str(name), 0, Shape.cast(field.shape).width)
        result.append((replaced or {}).get(str(name), plain))
    return result


class PrLayer(Layer):
    """Describes a property request, and the property that follows it in a response."""

    name = "NetSparse PR"
    fields_desc = [
        *fields_of(PR_LAYER),
        StrLenField("payload_bytes", b"", length_from=lambda pr: property_bytes(pr)),
    ]

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """Return nothing of this PR's own, and what belongs to the next PR."""
        return b"", s


class ConcatenationLayer(Layer):
    """Describes what the PRs of a packet share, and the PRs (NetSparse, figure 6)."""

    name = "NetSparse"
    fields_desc = [
        XBitField("reserved", 0, UPPER_LAYERS["reserved"].width),
        *fields_of(
            CONCATENATION_LAYER,
            {
                "prs": BitFieldLenField(
                    "prs", None, CONCATENATION_LAYER["prs"].width, count_of="requests"
                )
            },
        ),
        PacketListField("requests", [], PrLayer, count_from=lambda packet: packet.prs),
    ]


def property_bytes(pr: Any) -> int:
    """Return how many bytes follow ``pr``, as its packet says."""
    packet = pr.parent
    return packet.len if packet is not None and packet.type == Kind.RESPONSE.value else 0


bind_bottom_up(UDP, ConcatenationLayer, dport=PORT)
bind_layers(UDP, ConcatenationLayer, sport=PORT, dport=PORT)


def dissect(octets: bytes) -> Any:
    """Return the layers of a packet, Ethernet first."""
    return Ether(octets)


def write_pcap(path: Path, packets: Iterable[Packet | bytes]) -> None:
    """Write a capture of ``packets`` that Wireshark and Scapy read."""
    frames = [p.to_bytes() if isinstance(p, Packet) else p for p in packets]
    wrpcap(str(path), [dissect(frame) for frame in frames])
