"""Reads and writes SwitchGNN's frames, from the guides of switch and endpoint alone."""

from dataclasses import dataclass, field, replace

import numpy as np

FEATURE, PARTIAL, RESULT, RAW, ACK, ADVANCE, FETCH, DONE, RAWFETCH = range(4, 13)
LANE_BYTES = {FEATURE: 2, RAW: 2, PARTIAL: 4, RESULT: 4}
CONTROL_BYTES, BEAT_BYTES = 60, 64
NUMBERS = (("bm", 16, 4), ("job", 20, 2), ("epoch", 22, 2), ("turn", 24, 4), ("seq", 28, 4))
TARGETS = (("list", 34, 4), ("source", 38, 4), ("raw", 42, 4), ("rows", 46, 2))


@dataclass(frozen=True)
class Frame:
    """What a frame says."""

    kind: int
    bm: int = 0
    job: int = 0
    epoch: int = 0
    turn: int = 0
    seq: int = 0
    ecn: int = 0
    list: int = 0
    source: int = 0
    raw: int = 0
    rows: int = 0
    bitmap: int = 0
    payload: tuple = field(default=())

    def octets(self, lanes, destination, source):
        """Return the frame as it is on the wire."""
        octets = bytearray(CONTROL_BYTES)
        octets[:16] = destination + source + b"\x88\xb5\x02" + bytes([self.kind])
        octets[32] = self.ecn
        for name, at, size in NUMBERS + (() if self.kind == ACK else TARGETS):
            octets[at : at + size] = getattr(self, name).to_bytes(size, "little")
        if self.kind == ACK:
            octets[34:50] = self.bitmap.to_bytes(16, "little")
        if self.kind not in LANE_BYTES:
            return bytes(octets)
        return bytes(octets) + bytes(4) + payload_octets(self.kind, self.payload, lanes)


def payload_octets(kind, payload, lanes):
    """Return a payload in whole beats."""
    body = np.asarray(payload, dtype=f"<i{LANE_BYTES[kind]}").tobytes()
    return body + bytes(payload_bytes(kind, lanes) - len(body))


def payload_bytes(kind, lanes):
    """Return the bytes of a payload, whole beats."""
    return -(-LANE_BYTES[kind] * lanes // BEAT_BYTES) * BEAT_BYTES


def parsed(octets, lanes):
    """Return the frame that octets are; None if it is malformed."""
    kind = octets[15]
    if not FEATURE <= kind <= RAWFETCH or len(octets) < CONTROL_BYTES:
        return None
    size = CONTROL_BYTES
    if kind in LANE_BYTES:
        size = BEAT_BYTES + payload_bytes(kind, lanes)
    zero = [octets[32] & 0xFE, octets[33], *octets[50 : min(size, BEAT_BYTES)]]
    zero += [] if kind == ACK else octets[48:50]
    used = BEAT_BYTES + LANE_BYTES.get(kind, 0) * lanes
    if len(octets) != size or any(zero) or any(octets[used:]):
        return None
    fields = {
        name: int.from_bytes(octets[at : at + n], "little")
        for name, at, n in NUMBERS + (() if kind == ACK else TARGETS)
    }
    if kind == ACK:
        fields["bitmap"] = int.from_bytes(octets[34:50], "little")
    if kind in LANE_BYTES:
        fields["payload"] = tuple(
            np.frombuffer(octets[BEAT_BYTES:used], f"<i{LANE_BYTES[kind]}").tolist()
        )
    return Frame(kind=kind, ecn=octets[32], **fields)


def arrived(frame):
    """Return an ACK as one with the highest `seq` that tells the same."""
    bitmap, seq = frame.bitmap, frame.seq
    while bitmap & 1:
        bitmap, seq = bitmap >> 1, seq + 1
    return replace(frame, seq=seq, bitmap=bitmap)
