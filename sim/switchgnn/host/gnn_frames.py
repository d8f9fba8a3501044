"""Converts SwitchGNN's frames to bytes on the wire and back, for models in a simulation."""

import numpy as np

from sim.switchgnn.golden.frames import Frame, Kind

ETHERTYPE_AND_VERSION = b"\x88\xb5\x02"
BEAT_BYTES, CONTROL_BYTES = 64, 60  #: bytes of a beat, and of a frame without a payload
FIRST_KIND, KIND_AT, ECN_AT, BITMAP_AT, BITMAP_BYTES = 4, 15, 32, 34, 16
#: first byte and size of each number in a head
NUMBERS = {"bm": (16, 4), "job": (20, 2), "epoch": (22, 2), "turn": (24, 4), "seq": (28, 4)}
#: likewise, but an ACK has a bitmap in their place
TARGETS = {"list": (34, 4), "source": (38, 4), "raw": (42, 4), "rows": (46, 2)}
#: bytes of a lane, for each kind that has a payload
LANE_BYTES = {Kind.FEATURE: 2, Kind.RAW: 2, Kind.PARTIAL: 4, Kind.RESULT: 4}
KINDS = tuple(Kind)


def to_octets(frame: Frame, lanes: int, destination: bytes, source: bytes) -> bytes:
    """Return a frame with its addresses as it is on the wire, without its checksum.

    A payload may have fewer than ``lanes`` numbers: the others are 0.
    """
    size = LANE_BYTES.get(frame.kind, 0)
    head = bytearray(BEAT_BYTES if size else CONTROL_BYTES)
    kind = bytes([FIRST_KIND + KINDS.index(frame.kind)])
    head[:ECN_AT] = (destination + source + ETHERTYPE_AND_VERSION + kind).ljust(ECN_AT, b"\0")
    head[ECN_AT] = int(frame.ecn)
    for name, (at, width) in places(frame.kind).items():
        head[at : at + width] = getattr(frame, name).to_bytes(width, "little")
    if not size:
        return bytes(head)
    body = np.asarray(frame.payload).astype(f"<i{size}").tobytes()
    return bytes(head) + body.ljust(-(-size * lanes // BEAT_BYTES) * BEAT_BYTES, b"\0")


def from_octets(octets: bytes, lanes: int) -> Frame:
    """Return the frame that these bytes are; ValueError if its number of a kind is unknown."""
    number = octets[KIND_AT] - FIRST_KIND
    if not 0 <= number < len(KINDS):
        raise ValueError(f"no kind of frame has the number {octets[KIND_AT]}")
    kind = KINDS[number]
    fields = {
        name: int.from_bytes(octets[at : at + width], "little")
        for name, (at, width) in places(kind).items()
    }
    size, payload = LANE_BYTES.get(kind, 0), None
    if size:
        payload = np.frombuffer(octets, f"<i{size}", lanes, BEAT_BYTES).astype(np.int32)
    return Frame(kind=kind, ecn=bool(octets[ECN_AT] & 1), payload=payload, **fields)


def places(kind: Kind) -> dict[str, tuple[int, int]]:
    """Return the first byte and size of each number in the head of this kind, by name."""
    return NUMBERS | ({"bitmap": (BITMAP_AT, BITMAP_BYTES)} if kind is Kind.ACK else TARGETS)
