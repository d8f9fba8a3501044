"""Describes Ethernet packets as beats: of AXI4-Stream, towards a MAC, and of our own streams."""

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from hdl.common.axi import AxiStreamSignature

BEAT_BYTES = 64  #: bytes of a beat of packets, byte 0 in the lowest bits
LEAST_BYTES = 60  #: fewest bytes of a frame without its checksum: shorter ones do not pass Ethernet
MOST_MTU = 9216  #: bytes of the longest packet that our parts and the MAC can be set to
PRIORITY_COUNT = 8  #: classes of Ethernet that can be paused apart (IEEE 802.1Q)

AXIS = AxiStreamSignature(data_bits=8 * BEAT_BYTES)  #: packets of a 100G MAC, 250 MHz
BEAT = data.StructLayout({"data": AXIS.data_bits, "keep": AXIS.data_bits // 8, "last": 1})


def to_stream(m: Module, axis: Any, stream: Any) -> None:
    """Connect the source ``axis`` to ``stream``; what ``tuser`` says is left out."""
    beat = BEAT(stream.payload)
    m.d.comb += [
        beat.data.eq(axis.tdata),
        beat.keep.eq(axis.tkeep),
        beat.last.eq(axis.tlast),
        stream.valid.eq(axis.tvalid),
        axis.tready.eq(stream.ready),
    ]


def to_transmitter(m: Module, axis: Any, stream: Any) -> None:
    """Connect the source ``axis`` to ``stream``, on the way to a MAC.

    The last beat of a packet that ``tuser`` marks as broken lacks its first byte, as no other does:
    a MAC's transmitter drops such a packet (:class:`hdl.u280.mac_transmit.MacTransmit`).
    """
    to_stream(m, axis, stream)
    whole = ~(axis.tuser & axis.tlast)
    m.d.comb += BEAT(stream.payload).keep[0].eq(axis.tkeep[0] & whole)


def to_axis(m: Module, stream: Any, axis: Any) -> None:
    """Connect ``stream`` to the sink ``axis``; no packet is marked as broken."""
    beat = BEAT(stream.payload)
    m.d.comb += [
        axis.tdata.eq(beat.data),
        axis.tkeep.eq(beat.keep),
        axis.tlast.eq(beat.last),
        axis.tuser.eq(0),
        axis.tvalid.eq(stream.valid),
        stream.ready.eq(axis.tready),
    ]


def in_lanes(number: Value) -> Value:
    """Return a header, a number whose highest byte comes first, as the bytes of a stream."""
    number = Value.cast(number)
    return Cat(reversed([number[k : k + 8] for k in range(0, len(number), 8)]))
