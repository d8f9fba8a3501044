"""Describes SwitchGNN's frames as layers of Scapy, to inspect them, also in Wireshark."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scapy.fields import (
    BitField,
    ByteEnumField,
    ByteField,
    ConditionalField,
    LEIntField,
    LEShortField,
    StrField,
    XStrFixedLenField,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet as Layer
from scapy.packet import bind_layers
from scapy.utils import wrpcap

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.protocol import (
    ACK_BITS,
    CONTROL_BYTES,
    ETHERTYPE,
    FIELD_BYTES,
    LANE_BITS,
    VERSION,
    Kind,
)

ACK = Kind.ACK.value
WITH_PAYLOAD = {kind.value for kind in LANE_BITS}
PADDING = CONTROL_BYTES - FIELD_BYTES
MORE_PADDING = BEAT_BYTES - CONTROL_BYTES  #: zeros behind a head that a payload follows


class HeadLayer(Layer):
    """Describes the head of a frame behind its ethertype; the payload follows, lane 0 first."""

    name = "SwitchGNN"
    fields_desc = [
        ByteField("version", VERSION),
        ByteEnumField("kind", ACK, {kind.value: kind.name for kind in Kind}),
        LEIntField("bm", 0),
        LEShortField("job", 0),
        LEShortField("epoch", 0),
        LEIntField("turn", 0),
        LEIntField("seq", 0),
        BitField("no_flags", 0, 7),
        BitField("ecn", 0, 1),
        ByteField("nothing", 0),
        *(
            ConditionalField(field, lambda head: head.kind != ACK)
            for field in (
                LEIntField("list", 0),
                LEIntField("source", 0),
                LEIntField("raw", 0),
                LEShortField("rows", 0),
                LEShortField("no_more", 0),
            )
        ),
        ConditionalField(
            XStrFixedLenField("bitmap", bytes(ACK_BITS // 8), length=ACK_BITS // 8),
            lambda head: head.kind == ACK,
        ),
        XStrFixedLenField("padding", bytes(PADDING), PADDING),
        ConditionalField(
            XStrFixedLenField("more_padding", bytes(MORE_PADDING), MORE_PADDING),
            lambda head: head.kind in WITH_PAYLOAD,
        ),
        StrField("lanes", b""),
    ]


bind_layers(Ether, HeadLayer, type=ETHERTYPE)


def dissect(octets: bytes) -> Any:
    """Return the layers of a frame, Ethernet first."""
    return Ether(octets)


def write_pcap(path: Path, frames: Iterable[bytes]) -> None:
    """Write a capture of ``frames`` that Wireshark and Scapy read."""
    wrpcap(str(path), [dissect(frame) for frame in frames])
