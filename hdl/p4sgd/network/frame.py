"""Describes the one frame of P4SGD's AllReduce, as it is on the wire."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.hdl import Cat, Const, Value, ValueLike, signed
from amaranth.lib import data

from hdl.common.packets import LEAST_BYTES
from hdl.switch.frame_format import FrameFormat

FRAME_BYTES = LEAST_BYTES  #: bytes of a frame without its checksum
LANES = 8  #: number of activations in a frame
ETHERTYPE = 0x88B5  #: ethertype that IEEE 802 sets aside for local experiments
VERSION = 2


class Frame(data.Struct):
    """Describes a packet of an AllReduce (P4SGD, section 3.3, figure 4): a 60-byte Ethernet frame.

    Byte i of the frame is in bits 8 i to 8 i + 7. Addresses and ethertype are in network byte
    order; fields from ``bm`` on have their low byte first. A worker sends partial activations
    (``is_agg``) and acknowledgements; the switch answers with full activations (``is_agg``), with a
    confirmation that all workers have acknowledged (``acked``), and with pending (both flags) to a
    packet that is repeated before those of all workers have come. In a full activation
    ``saturated`` marks the sums that were clamped; in all other packets it is zero.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    is_agg: 1  #: byte 15, bit 0: aggregation, else acknowledgement
    acked: 1  #: bit 1: every worker has acknowledged; with is_agg: pending
    no_flags: 6  #: zero
    bm: 32  #: bytes 16..19: the sending worker's bit; from the switch, the workers it is for
    job: 16  #: bytes 20, 21
    epoch: 16  #: bytes 22, 23: of the job; a restarted job rejects packets of its earlier run
    seq: 16  #: bytes 24, 25: slot
    use: 8  #: byte 26: how often the slot has been used, modulo 256
    saturated: LANES  #: byte 27: a bit for each lane of a full activation that was clamped
    payload: data.ArrayLayout(signed(32), LANES)  #: bytes 28..59, activations


ETHERTYPE_ON_WIRE = int.from_bytes(ETHERTYPE.to_bytes(2, "big"), "little")
FRAME_KEEP = (1 << FRAME_BYTES) - 1  #: ``tkeep`` of a frame, which is one beat

FRAMES = FrameFormat(
    first=Frame,
    constants=(("ethertype", ETHERTYPE_ON_WIRE), ("version", VERSION)),
    kinds=(0, 3),  # the flags
    zero=("no_flags",),
)


def frame_bits(**fields: ValueLike) -> Value:
    """Return the bits of a frame with ``fields``; all other fields are zero."""
    fields |= {"ethertype": Const(ETHERTYPE_ON_WIRE, 16), "version": Const(VERSION, 8)}
    parts = []
    for name, field in Frame.as_shape():
        value = Value.cast(fields.pop(name, Const(0, field.width)))
        parts.append(Cat(value, Const(0, field.width))[: field.width])
    assert not fields, f"no fields of a frame: {fields}"
    return Cat(parts)
