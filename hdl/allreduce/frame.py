"""Describes the frames of AllReduces of many numbers, as they are on the wire."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.lib import data

from hdl.allreduce.wide_params import Operation
from hdl.common.packets import LEAST_BYTES
from hdl.common.params import whole
from hdl.switch.frame_format import FrameFormat
from hdl.switch.slots import PAYLOAD_BITS

ETHERTYPE = 0x88B5  #: ethertype that IEEE 802 sets aside for local experiments
VERSION = 4
NUMBER_BYTES = PAYLOAD_BITS // 8


class WideFrame(data.Struct):
    """Describes the 28 bytes before a frame's numbers, each of 32 bits.

    Behind the numbers a frame has 4 bytes that say how many numbers of a full activation were
    clamped; they mean nothing in frames of workers.

    Byte i is in bits 8 i to 8 i + 7. Addresses and ethertype are in network byte order; all other
    fields and the numbers have their low byte first. A worker sends partial activations
    (``is_agg``), which have numbers, and acknowledgements, which have none. The switch answers with
    full activations (``is_agg``), with ``acked``, and with pending (both flags). A frame is padded
    to 60 bytes.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    is_agg: 1  #: byte 15, bit 0
    acked: 1  #: bit 1: every worker has acknowledged; with is_agg: pending
    no_flags: 6  #: zero
    bm: 32  #: bytes 16..19: the sending worker's bit; from the switch, the workers it is for
    job: 8  #: byte 20
    use: 8  #: byte 21: how often the slot has been used, modulo 256
    epoch: 16  #: bytes 22, 23: of the job
    seq: 16  #: bytes 24, 25: slot
    count: 12  #: bytes 26, 27, bits 0 to 11: of numbers
    operation: 4  #: bits 12 to 15: :class:`hdl.allreduce.wide_params.Operation`


HEADER_BYTES = WideFrame.as_shape().size // 8
HEADER_WORDS = HEADER_BYTES // NUMBER_BYTES  #: words of 32 bits before the numbers


def trailer_word(count: Value) -> Value:
    """Return the number of the 32-bit word behind ``count`` numbers."""
    return (count + HEADER_WORDS)[: len(count)]


def last_word(count: Value) -> Value:
    """Return the number of the last 32-bit word of a frame with ``count`` numbers."""
    last, least = trailer_word(count), LEAST_BYTES // NUMBER_BYTES - 1
    return Mux(last < least, least, last)


class WideFrameFormat(FrameFormat, suffix="{name}"):
    """Describes the frames that workers send: their length is that of their count of numbers."""

    #: most numbers of a frame; those of more than 370 are longer than Ethernet's 1,518 bytes
    most_numbers: int = whole(256, 2048, power_of_two=True, default=256, tag="_n{}")

    def is_wrong(self, frame: Any) -> Value:
        """Return whether a field has a value that means nothing, or that only a switch sends."""
        strange = (frame.operation >= len(Operation)) | (frame.count > self.most_numbers)
        return super().is_wrong(frame) | strange | (frame.is_agg != frame.count.any())

    def last_byte(self, frame: Any) -> Value:
        """Return the number of the last byte of ``frame``."""
        return Cat(Const(3, 2), last_word(frame.count[: self.most_numbers.bit_length()]))


def wide_format(most_numbers: int) -> WideFrameFormat:
    """Describe frames of at most so many numbers."""
    return WideFrameFormat(
        name="wide",
        first=WideFrame,
        constants=(
            ("ethertype", int.from_bytes(ETHERTYPE.to_bytes(2, "big"), "little")),
            ("version", VERSION),
        ),
        zero=("acked", "no_flags"),
        max_bytes=HEADER_BYTES + NUMBER_BYTES * (most_numbers + 1),
        most_numbers=most_numbers,
    )
