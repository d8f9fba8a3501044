"""Packs and unpacks SwitchGNN's frames, from the layouts of the hardware."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn import protocol
from hdl.switchgnn.protocol import (
    CONTROL_BYTES,
    ETHERTYPE_ON_WIRE,
    FIELD_BYTES,
    LANE_BITS,
    VERSION,
    Head,
    frame_bytes,
)
from sim.harness.payloads import pack, unpack
from sim.switchgnn.golden.frames import Frame, Kind, Quality

#: Names fields that a head and a frame have in common.
NUMBERS = ("bm", "job", "epoch", "turn", "seq")
TARGETS = ("list", "source", "raw", "rows")
SWITCH = bytes.fromhex("02000000ff01")  #: the switch's address
GROUP = bytes.fromhex("03000000ff02")  #: address of all endpoints


def own_address(port: int) -> bytes:
    """Return the Ethernet address of the endpoint at a port."""
    return bytes.fromhex("020000000a") + bytes([port])


@dataclass(frozen=True)
class Addresses:
    """Holds where a frame goes to and comes from: six bytes each, in the order of the wire."""

    destination: bytes = bytes(6)
    source: bytes = bytes(6)


NOWHERE = Addresses()


def to_octets(frame: Frame, lanes: int, addresses: Addresses = NOWHERE) -> bytes:
    """Return the frame's bytes without checksum; raise ValueError for what does not fit."""
    kind = protocol.Kind[frame.kind.name]
    if frame.kind is Kind.ACK:
        about: dict[str, Any] = {"bitmap": frame.bitmap}
    else:
        about = {"target": {name: getattr(frame, name) for name in TARGETS}}
    head = {name: getattr(frame, name) for name in NUMBERS} | {
        "destination": int.from_bytes(addresses.destination, "little"),
        "source": int.from_bytes(addresses.source, "little"),
        "ethertype": ETHERTYPE_ON_WIRE,
        "version": VERSION,
        "kind": kind,
        "ecn": int(frame.ecn),
        "about": about,
    }
    octets = pack(Head, head).to_bytes(FIELD_BYTES, "little")
    if kind not in LANE_BITS:
        if frame.payload is not None:
            raise ValueError(f"a {kind.name} has no payload")
        return octets + bytes(CONTROL_BYTES - FIELD_BYTES)
    payload = lanes_of(frame, kind, lanes)
    return octets + bytes(BEAT_BYTES - FIELD_BYTES) + payload + bytes(-len(payload) % BEAT_BYTES)


def lanes_of(frame: Frame, kind: protocol.Kind, lanes: int) -> bytes:
    """Return the payload as bytes, lane 0 first."""
    values = np.asarray(frame.payload)
    lane = lane_type(kind)
    if values.shape != (lanes,) or not np.array_equal(values, values.astype(lane)):
        raise ValueError(f"a {kind.name} has {lanes} lanes of {LANE_BITS[kind]} bits: {values}")
    return values.astype(lane).tobytes()


def lane_type(kind: protocol.Kind) -> np.dtype:
    """Return the type of a lane: a signed number, low byte first."""
    return np.dtype(f"<i{LANE_BITS[kind] // 8}")


def from_octets(octets: bytes, lanes: int) -> Frame:
    """Parse the frame that ``octets`` are; raise ValueError unless they are one, to the last bit.

    Addresses may be any. A payload has int32 lanes, those of features too.
    """
    head, kind = unpack_head(octets)
    if len(octets) != frame_bytes(kind, lanes):
        raise ValueError(f"a {kind.name} has {frame_bytes(kind, lanes)} bytes: {len(octets)}")
    fields: dict[str, Any] = {name: head[name] for name in NUMBERS}
    fields |= {"kind": Kind[kind.name], "ecn": bool(head["ecn"])}
    if kind is protocol.Kind.ACK:
        fields |= {"bitmap": head["about"]["bitmap"]}
    else:
        fields |= {name: head["about"]["target"][name] for name in TARGETS}
    if kind in LANE_BITS:
        values = np.frombuffer(octets[BEAT_BYTES:], lane_type(kind))[:lanes]
        fields |= {"payload": values.astype(np.int32)}
    frame = Frame(**fields)
    if to_octets(frame, lanes, Addresses(octets[:6], octets[6:12])) != octets:
        raise ValueError("bits that are zero in every frame are not, or it is none of ours")
    return frame


def unpack_head(octets: bytes) -> tuple[dict[str, Any], protocol.Kind]:
    """Return the fields of the head, and the kind of frame that they make."""
    if len(octets) < CONTROL_BYTES:
        raise ValueError(f"a frame has at least {CONTROL_BYTES} bytes: {len(octets)}")
    try:
        head = unpack(Head, int.from_bytes(octets[:FIELD_BYTES], "little"))
    except ValueError:
        raise ValueError(f"no kind has the number {octets[15]}") from None
    return head, head["kind"]


def judge(octets: bytes, lanes: int, address: bytes, *, corrupt: bool = False) -> Frame | Quality:
    """Return what a receiver at ``address`` makes of a packet; the MAC says ``corrupt``.

    Packets that are too short to tell whose they are are malformed.
    """
    if corrupt:
        return Quality.CORRUPT
    own = address + ETHERTYPE_ON_WIRE.to_bytes(2, "little") + bytes([VERSION])
    if len(octets) >= 15 and octets[:6] + octets[12:15] != own:
        return Quality.FOREIGN
    try:
        return from_octets(octets, lanes)
    except ValueError:
        return Quality.MALFORMED
