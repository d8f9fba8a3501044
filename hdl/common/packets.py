"""Describes Ethernet packets as beats of AXI4-Stream, towards a MAC, and of Amaranth streams."""

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from hdl.common.axi import AxiStreamSignature

BEAT_BYTES = 64  #: bytes of a beat of packets, byte 0 in the lowest bits
LEAST_BYTES = 60  #: fewest bytes of an Ethernet frame without its checksum
MAX_MTU = 9216  #: bytes of the longest packet for which the parts and the MAC can be configured
PRIORITY_COUNT = 8  #: priorities of Ethernet that can be paused separately (IEEE 802.1Q)

AXIS = AxiStreamSignature(data_bits=8 * BEAT_BYTES)  #: packets of a 100G MAC, 250 MHz
BEAT = data.StructLayout({"data": AXIS.data_bits, "keep": AXIS.data_bits // 8, "last": 1})


def to_stream(m: Module, axis: Any, stream: Any) -> None:
    """Connect the source ``axis`` to ``stream``, without ``tuser``."""
    beat = BEAT(stream.payload)
    m.d.comb += [
        beat.data.eq(axis.tdata),
        beat.keep.eq(axis.tkeep),
        beat.last.eq(axis.tlast),
        stream.valid.eq(axis.tvalid),
        axis.tready.eq(stream.ready),
    ]


def to_transmitter(m: Module, axis: Any, stream: Any) -> None:
    """Connect the source ``axis`` to ``stream``, for a MAC's transmitter.

    A packet that ``tuser`` marks as broken gets a last beat without the enable of its first byte; a
    MAC's transmitter drops such a packet (:class:`hdl.u280.mac_transmit.MacTransmit`).
    """
    to_stream(m, axis, stream)
    whole = ~(axis.tuser & axis.tlast)
    m.d.comb += BEAT(stream.payload).keep[0].eq(axis.tkeep[0] & whole)


def to_axis(m: Module, stream: Any, axis: Any, beat: Any = None) -> None:
    """Connect ``stream`` to the sink ``axis``; no packet is marked as broken.

    ``beat`` has the fields of a beat, if they are not all of the payload.
    """
    beat = BEAT(stream.payload) if beat is None else beat
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
