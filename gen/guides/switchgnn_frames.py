"""Finds what the guides of SwitchGNN's switch and endpoint say of frames, and makes those shown."""

from collections.abc import Sequence
from typing import Any

from gen.guides.guide import lines, little_rows, number_of
from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.protocol import (
    ACK_BITS,
    CONTROL_BYTES,
    ETHERTYPE,
    ETHERTYPE_ON_WIRE,
    FIELD_BYTES,
    LANE_BITS,
    VERSION,
    Head,
    Kind,
    Target,
    frame_bytes,
    payload_bytes,
)

#: of the known answers: Ethernet addresses as bytes
SWITCH, WORKERS = b"\x02\0\0\0\0\x10", b"\x03\0\0\0\0\x01"

HEAD_USES = {
    "destination": "Ethernet address, first byte first",
    "source": "Ethernet address, first byte first",
    "ethertype": ETHERTYPE.to_bytes(2, "big").hex(" ").upper(),
    "version": str(VERSION),
    "kind": "the table of kinds",
    "bm": "the bit of the switch's port that the worker is at: 2^p for port p",
    "job": "number of the job",
    "epoch": "number of the job's run",
    "turn": "number of the turn",
    "seq": "FEATURE, PARTIAL: its number in the turn, from 0 on; ACK: all below have come",
    "ecn": "ACK, RESULT, RAW: a queue is long",
    "no_flags": "zero",
}
TARGET_USES = {
    "list": "FEATURE: first row of its list; PARTIAL, RESULT, FETCH: number of the aggregator",
    "source": "FEATURE, RAW, RAWFETCH: number of the vertex",
    "raw": "bitmap of ports: FEATURE, RAW: who gets a copy; RAWFETCH: see below",
    "rows": "FEATURE: number of rows of its list",
    "nothing": "zero",
}
KINDS = {
    Kind.FEATURE: ("to the switch", "a feature, to be added and copied"),
    Kind.PARTIAL: ("to the switch", "a sum of the sender's own, to be added"),
    Kind.RESULT: ("to a worker", "the sum of an aggregator"),
    Kind.RAW: ("both", "a feature as its owner sent it"),
    Kind.ACK: ("to a worker", "what has come of a turn"),
    Kind.ADVANCE: ("to a worker", "`turn` is now the oldest open turn"),
    Kind.FETCH: ("to the switch", "send the sum of that aggregator again"),
    Kind.DONE: ("to the switch", "the sender has all that it gets in the turn"),
    Kind.RAWFETCH: ("both", "send that feature again"),
}


def frame_values(lanes: int) -> dict[str, Any]:
    """Return what the part of a guide that describes frames names."""
    reported = [(name, field) for name, field in Head.as_shape() if name != "about"]
    return {
        "L": lanes,
        "head": [
            row
            for name, _ in reported
            for row in little_rows(Head.as_shape(), HEAD_USES | {"about": ""})
            if row["field"] == name
        ],
        "target": list(little_rows(Target.as_shape(), TARGET_USES, FIELD_BYTES - 16)),
        "ack_bits": ACK_BITS,
        "ack_bytes": f"{FIELD_BYTES - ACK_BITS // 8} to {FIELD_BYTES - 1}",
        "field_bytes": FIELD_BYTES,
        "control_bytes": CONTROL_BYTES,
        "beat_bytes": BEAT_BYTES,
        "kinds": [
            (
                kind.value,
                kind.name,
                path,
                f"L x int{LANE_BITS[kind]}" if kind in LANE_BITS else "-",
                frame_bytes(kind, lanes),
                what,
            )
            for kind, (path, what) in KINDS.items()
        ],
    }


def frame(
    kind: Kind,
    lanes: int,
    *,
    to_switch: bool,
    payload: Sequence[int] = (),
    bitmap: int = 0,
    **fields: int,
) -> bytes:
    """Return a frame; ``payload`` are its first lanes, the others are 0."""
    target = {name: fields.pop(name) for name in TARGET_USES if name in fields}
    ends = (SWITCH, WORKERS) if to_switch else (WORKERS, SWITCH)
    head = {
        "destination": int.from_bytes(ends[0], "little"),
        "source": int.from_bytes(ends[1], "little"),
        "ethertype": ETHERTYPE_ON_WIRE,
        "version": VERSION,
        "kind": kind,
        "about": {"bitmap": bitmap} if kind is Kind.ACK else {"target": target},
    }
    octets = number_of(Head.as_shape(), head | fields).to_bytes(FIELD_BYTES, "little")
    size = LANE_BITS.get(kind, 0) // 8
    lanes_of = b"".join(value.to_bytes(size, "little", signed=True) for value in payload)
    body = lanes_of.ljust(payload_bytes(kind, lanes), b"\0")
    return octets.ljust(BEAT_BYTES if body else CONTROL_BYTES, b"\0") + body


def shown(octets: bytes) -> dict[str, Any]:
    """Return a frame as lines up to the last byte that is not zero, and how many it has."""
    end = -(-len(octets.rstrip(b"\0")) // 16) * 16
    return {"lines": lines(octets[:end]), "bytes": len(octets), "zeros": end < len(octets)}
