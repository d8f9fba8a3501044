"""Models the frames of the wide AllReduce as bytes: a header, then numbers, and a trailer.

The trailer says how many numbers of a full activation were clamped; workers leave it 0. Addresses
and ethertype are in network byte order; all other fields have their low byte first. Frames shorter
than Ethernet's least are padded with zeros.
"""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from sim.golden.reduction.allreduce import HIGHEST, LOWEST, Packet
from sim.golden.reduction.frames import ACKED, BYTES, ETHERTYPE, HEADER_BYTES, IS_AGG, Quality

VERSION = 4
MOST = 256  # numbers in a frame
JUMBO = 2048  # where links take jumbo frames
NUMBER = np.dtype("<i4")
FIELDS = {
    "flags": "u1",  # IS_AGG, ACKED; the others are zero
    "bm": "<u4",  # the sending worker's bit; from the switch, the workers it is for
    "job": "u1",
    "use": "u1",  # of the slot, modulo 256
    "epoch": "<u2",
    "seq": "<u2",  # slot
    "shape": "<u2",  # count of numbers, 0 if it is no activation, and from bit 12 on the operation
}
OPERATION_AT = 12
PROTOCOL = [("destination", "V6"), ("source", "V6"), ("ethertype", ">u2"), ("version", "u1")]
HEADER = np.dtype([*PROTOCOL, *FIELDS.items()])
TRAILER = np.dtype("<u4")
COPIED = FIELDS.keys() - {"shape"}  # as they are


class Operation(IntEnum):
    """Says what is done with the numbers of all workers."""

    SUM = 0  # exact, clamped once on the way out
    MAX = 1
    OR = 2


COMBINE = (np.add, np.maximum, np.bitwise_or)  # by operation


class Total(NamedTuple):
    """Holds exact numbers, and the operation that they are the result of."""

    operation: int
    numbers: np.ndarray  # of 64 bits

    @property
    def clamped(self) -> np.ndarray:
        """Return the numbers as a frame has them."""
        return np.clip(self.numbers, LOWEST, HIGHEST).astype(NUMBER)


def combined(total: Total, more: Total) -> Total | None:
    """Return the result of both, or None if operation or count differ."""
    if total.operation != more.operation or len(total.numbers) != len(more.numbers):
        return None
    return Total(total.operation, COMBINE[total.operation](total.numbers, more.numbers))


@dataclass(frozen=True, kw_only=True)
class WideFrame:
    """Holds the fields of a frame; addresses are six bytes in the order of the wire."""

    destination: bytes = bytes(6)
    source: bytes = bytes(6)
    flags: int = 0
    bm: int = 0
    job: int = 0
    epoch: int = 0
    seq: int = 0
    use: int = 0
    operation: int = Operation.SUM
    saturated: int = 0
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0, NUMBER))

    def to_bytes(self) -> bytes:
        """Return the frame on the wire, without checksum; ValueError for what does not fit."""
        head = np.zeros((), HEADER)
        head["ethertype"], head["version"] = ETHERTYPE, VERSION
        if not len(self.destination) == len(self.source) == 6:
            raise ValueError(f"addresses are six bytes: {self}")
        try:
            for name in COPIED:
                head[name] = getattr(self, name)
            head["shape"] = len(self.numbers) | self.operation << OPERATION_AT
        except OverflowError as error:
            raise ValueError(f"{error}: {self}") from None
        head["destination"], head["source"] = np.void(self.destination), np.void(self.source)
        trailer = np.array(self.saturated, TRAILER)
        parts = head, self.numbers.astype(NUMBER), trailer
        return b"".join(part.tobytes() for part in parts).ljust(BYTES, b"\0")

    @classmethod
    def from_bytes(cls, wire: bytes) -> "WideFrame":
        """Return the fields of a frame; raise ValueError for a length that is not its count's."""
        head = np.frombuffer(wire.ljust(HEADER.itemsize, b"\0"), HEADER, 1)[0]
        operation, count = divmod(int(head["shape"]), 1 << OPERATION_AT)
        if len(wire) != wire_bytes(count):
            raise ValueError(
                f"a frame of {count} numbers has {wire_bytes(count)} bytes: {len(wire)}"
            )
        return cls(
            destination=head["destination"].tobytes(),
            source=head["source"].tobytes(),
            operation=operation,
            saturated=int(np.frombuffer(wire, TRAILER, 1, trailer_at(count))[0]),
            numbers=np.frombuffer(wire, NUMBER, count, HEADER.itemsize),
            **{name: int(head[name]) for name in COPIED},
        )

    @property
    def packet(self) -> Packet:
        """Return the fields that the protocol's rule looks at."""
        is_agg, acked = bool(self.flags & IS_AGG), bool(self.flags & ACKED)
        payload = Total(self.operation, self.numbers.astype(np.int64))
        return Packet(is_agg, self.bm, self.use, acked, payload, self.saturated)


EMPTY = Total(Operation.SUM, np.zeros(0, np.int64))


def answered(frame: WideFrame, answer: Packet, address: bytes, group: bytes) -> WideFrame:
    """Return the frame of a switch with ``address`` that sends ``group`` an answer to ``frame``."""
    total: Total = answer.payload or EMPTY
    return replace(
        frame,
        destination=group,
        source=address,
        flags=IS_AGG * answer.is_agg | ACKED * answer.acked,
        bm=answer.bm,
        operation=total.operation,
        saturated=int(np.count_nonzero(total.clamped != total.numbers)),
        numbers=total.clamped,
    )


def trailer_at(count: int) -> int:
    """Return the place of the trailer in a frame with so many numbers."""
    return HEADER.itemsize + NUMBER.itemsize * count


def wire_bytes(count: int) -> int:
    """Return the bytes of a frame with so many numbers."""
    return max(BYTES, trailer_at(count) + TRAILER.itemsize)


def judge(wire: bytes, corrupt: bool, address: bytes, most: int = MOST) -> Quality:
    """Return the verdict of a receiver with ``address`` on a packet; the MAC says ``corrupt``.

    A packet is malformed if its length is not that of its count of numbers, of which there are at
    most ``most``, if it has numbers and is no activation or the other way round, or if a field has
    a value that means nothing.
    """
    if corrupt:
        return Quality.CORRUPT
    if len(wire) >= HEADER_BYTES:
        ethertype = int.from_bytes(wire[12:14], "big")
        if wire[:6] != address or ethertype != ETHERTYPE or wire[14] != VERSION:
            return Quality.FOREIGN
    try:
        frame = WideFrame.from_bytes(wire)
    except ValueError:
        return Quality.MALFORMED
    legal = frame.flags <= IS_AGG | ACKED and frame.operation < len(Operation)
    count = len(frame.numbers)
    fits = count <= most and (frame.flags == IS_AGG) == (count > 0)
    return Quality.GOOD if legal and fits else Quality.MALFORMED
