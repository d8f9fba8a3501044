"""Specifies a ring of work requests in host memory: where its descriptors are, and their bytes.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", 3.2, with the queue of requests and doorbell of NetSparse, section 5.4: the host
writes descriptors into its own memory, then tells the engine how many there are.
"""

import struct
from dataclasses import dataclass
from typing import Any

from sim.gather.golden.engine import WorkRequest
from sim.gather.golden.rows import Table

DESCRIPTOR = struct.Struct("<QQQQIIIIHBBBBBB8s")
DESCRIPTOR_BYTES = DESCRIPTOR.size  #: 64
#: names of the numbers in a descriptor, in their order; what is reserved comes behind them
NAMES = ("idx_address", "base", "destination", "completion_address", "count", "rows", "stride")
FLAGS = ("on_card", "streamed", "coalesce", "posted")
NAMES += ("row_bytes", "tag", "order", "wide", *FLAGS)
#: bits with a meaning, for fields that have more bits than that in the descriptor
BITS = {"stride": 17, "row_bytes": 17, "order": 2, "wide": 1, **dict.fromkeys(FLAGS, 1)}


@dataclass(frozen=True)
class Descriptor:
    """Holds a descriptor's work request, and whether it has bits without a meaning."""

    request: WorkRequest
    malformed: bool = False


@dataclass(frozen=True)
class Ring:
    """Says where a ring is in host memory."""

    address: int  #: a multiple of the ring's bytes
    places: int  #: a power of two, 1..32768

    def place(self, index: int) -> int:
        """Return the address of descriptor number ``index``."""
        return self.address + DESCRIPTOR_BYTES * (index % self.places)


def pack(request: WorkRequest) -> bytes:
    """Pack a work request into the 64 bytes of a descriptor."""
    fields = vars(request) | vars(request.table) | {"wide": request.idx_bytes == 8}
    return DESCRIPTOR.pack(*(int(fields[name]) for name in NAMES), bytes(8))


def unpack(octets: bytes) -> Descriptor:
    """Return the descriptor that has these 64 bytes."""
    *numbers, reserved = DESCRIPTOR.unpack(octets)
    provided: dict[str, int] = dict(zip(NAMES, numbers, strict=True))
    malformed = any(reserved) or any(provided[name] >> bits for name, bits in BITS.items())
    fields: dict[str, Any] = {
        name: value & (1 << BITS.get(name, 64)) - 1 for name, value in provided.items()
    }
    table = Table(**{name: fields.pop(name) for name in ("base", "rows", "row_bytes", "stride")})
    idx_bytes = 8 if fields.pop("wide") else 4
    flags: dict[str, Any] = {name: bool(fields.pop(name)) for name in FLAGS}
    return Descriptor(WorkRequest(table=table, idx_bytes=idx_bytes, **fields, **flags), malformed)
