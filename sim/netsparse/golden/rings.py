"""Packs descriptors and unpacks completions as a host does: by struct, without hardware."""

import struct
from dataclasses import dataclass

DESCRIPTOR = struct.Struct("<QQIIHHBB34x")  #: 64 bytes
ENTRY = struct.Struct("<HBBHxxxxxxxxxB")  #: 16 bytes; the phase is the last one's highest bit


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Describes a completion as it lies in the completion ring."""

    tag: int
    unit: int
    cause: int
    consumer: int
    phase: int


def pack_descriptor(
    *,
    idx_address: int,
    property_address: int,
    count: int,
    watchdog: int,
    property_bytes: int,
    tag: int,
    unit: int,
    wide: int,
) -> bytes:
    """Pack a work request, IBV_WR_RIG, into bytes."""
    return DESCRIPTOR.pack(
        idx_address, property_address, count, watchdog, property_bytes, tag, unit, wide
    )


def unpack_entry(memory: bytes) -> Entry:
    """Unpack the completion in 16 bytes."""
    tag, unit, cause, consumer, last = ENTRY.unpack(memory)
    return Entry(tag=tag, unit=unit, cause=cause, consumer=consumer, phase=last >> 7)
