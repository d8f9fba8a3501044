"""Defines SwitchGNN's frames once: the head with which all of them begin, and their payloads."""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.lib import data, enum

from hdl.common.packets import BEAT_BYTES, LEAST_BYTES
from hdl.switch.frame_format import FrameFormat

ETHERTYPE = 0x88B5  #: ethertype that IEEE 802 sets aside for local experiments
ETHERTYPE_ON_WIRE = int.from_bytes(ETHERTYPE.to_bytes(2, "big"), "little")
VERSION = 2

FIELD_BYTES = 50  #: bytes of the head that have fields; the bytes after them are zero
CONTROL_BYTES = LEAST_BYTES  #: bytes of a frame without a payload, without its checksum
ACK_BITS = 128  #: frames from its base on about which an ACK tells: the widest window

FEATURE_BITS = 16  #: width of a feature, signed
SUM_BITS = 32  #: width of a sum, signed


class Kind(enum.Enum, shape=8):
    """Names the kinds of frames between workers and the switch.

    Numbers below 4 are taken by the flags that P4SGD's frames have in the same byte, so that a
    switch can distinguish the frames of both systems.
    """

    FEATURE = 4  #: to the switch: lanes x int16, added to the aggregators of rows, copied as RAW
    PARTIAL = 5  #: to a switch: lanes x int32, added to the aggregator in ``list``
    RESULT = 6  #: to a worker: lanes x int32, the sum of an aggregator
    RAW = 7  #: lanes x int16, a feature as its owner sent it: to a worker, or an owner's answer
    ACK = 8  #: to the sender: which frames of a turn have arrived
    ADVANCE = 9  #: to a worker or a switch below: the oldest open turn
    FETCH = 10  #: to the switch: request to send the sum of an aggregator again
    DONE = 11  #: to the switch: the sender has all of a turn
    RAWFETCH = 12  #: to the switch, and on to the owner: request to send a feature again


#: Maps the kinds that have a payload to the width of its lanes.
LANE_BITS = {
    Kind.FEATURE: FEATURE_BITS,
    Kind.RAW: FEATURE_BITS,
    Kind.PARTIAL: SUM_BITS,
    Kind.RESULT: SUM_BITS,
}


class Target(data.Struct):
    """Describes the subject of a frame: bytes 34 to 49 of all kinds but ACK."""

    list: 32  #: first row of a FEATURE; else an aggregator of the job: index x banks + bank
    source: 32  #: vertex whose feature it is
    raw: 32  #: ports that get a copy; RAWFETCH: the owner's port, then the requester's
    rows: 16  #: number of rows of a FEATURE's list
    nothing: 16  #: zero


class Head(data.Struct):
    """Describes the first beat of every frame (SwitchGNN, section 4, extended).

    Byte i of the frame is in bits 8 i to 8 i + 7. Bytes 0 to 23 are those of P4SGD's frame, with
    the kind in place of the flags. Addresses and ethertype are in network byte order; fields from
    ``bm`` on have their low byte first. Fields that a kind does not use are zero; receivers ignore
    them, and a switch sends them as zero.

    A control frame has 60 bytes. In all others the head is a whole beat of 64 bytes and the payload
    follows in whole beats, lane 0 first; the rest of the last beat is zero.
    """

    destination: 48  #: bytes 0..5
    source: 48  #: bytes 6..11
    ethertype: 16  #: bytes 12, 13
    version: 8  #: byte 14
    kind: Kind  #: byte 15
    bm: 32  #: bytes 16..19: bit of the switch's port of the worker, or of the other switch
    job: 16  #: bytes 20, 21
    epoch: 16  #: bytes 22, 23: of the job; a restarted job rejects frames of its earlier run
    turn: 32  #: bytes 24..27
    seq: 32  #: bytes 28..31: number of a FEATURE or PARTIAL in its turn; ACK: all below have come
    ecn: 1  #: byte 32, bit 0: RESULT, RAW: congested towards the worker; ACK: from it
    no_flags: 15  #: zero, to byte 33
    about: data.UnionLayout({"target": Target, "bitmap": ACK_BITS})  #: bytes 34..49; ACK: bitmap


assert Head.as_shape().size == 8 * FIELD_BYTES


def payload_bytes(kind: Kind, lanes: int) -> int:
    """Return the number of bytes that follow the head, whole beats; 0 in a control frame."""
    used = LANE_BITS.get(kind, 0) * lanes // 8
    return -(-used // BEAT_BYTES) * BEAT_BYTES


def frame_bytes(kind: Kind, lanes: int) -> int:
    """Return the number of bytes of a frame without its checksum."""
    payload = payload_bytes(kind, lanes)
    return BEAT_BYTES + payload if payload else CONTROL_BYTES


def frame_format(lanes: int) -> FrameFormat:
    """Describe the frames of a job with ``lanes`` features in each, for all receivers."""
    return FrameFormat(
        name="switchgnn",
        first=Head,
        constants=(("ethertype", ETHERTYPE_ON_WIRE), ("version", VERSION)),
        kinds=(4, 15),
        zero=("no_flags",),
        least_bytes=CONTROL_BYTES,
        max_bytes=frame_bytes(Kind.RESULT, lanes),
    )
