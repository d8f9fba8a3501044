"""Specifies a ring of work requests in host memory: its bytes, and what its descriptors do.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", 3.2, with the queue of requests and doorbell of NetSparse, section 5.4: the host
writes descriptors into its own memory, then tells the engine how many there are.
"""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.gather.golden.engine import Completion, Outcome, WorkRequest, carry_out
from sim.gather.golden.rows import Table

DESCRIPTOR = struct.Struct("<QQQQIIIIHBBBBBB8s")
DESCRIPTOR_BYTES = DESCRIPTOR.size  #: 64
INDICES = 1 << 16  #: descriptors are counted modulo this
FLAGS = ("on_card", "streamed", "coalesce", "posted")
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

    def fetched(self, host: np.ndarray, taken: int, doorbell: int) -> list[Descriptor] | None:
        """Return the descriptors that a doorbell announces, from ``host``, uint8 from address 0 on.

        ``taken`` descriptors were taken before; ``taken`` and ``doorbell`` are modulo 2^16. Returns
        None if the doorbell announces more descriptors than the ring has places: it is refused, and
        the ring stops.
        """
        count = (doorbell - taken) % INDICES
        if count > self.places:
            return None
        places = [self.place(taken + k) for k in range(count)]
        return [unpack(host[at : at + DESCRIPTOR_BYTES].tobytes()) for at in places]


def pack(request: WorkRequest) -> bytes:
    """Pack a work request into the 64 bytes of a descriptor."""
    table = request.table
    return DESCRIPTOR.pack(
        request.idx_address,
        table.base,
        request.destination,
        request.completion_address,
        request.count,
        table.rows,
        table.stride,
        table.row_bytes,
        request.tag,
        request.order,
        int(request.idx_bytes == 8),
        *(int(getattr(request, name)) for name in FLAGS),
        bytes(8),
    )


def unpack(octets: bytes) -> Descriptor:
    """Return the descriptor that has these 64 bytes."""
    names = ("idx_address", "base", "destination", "completion_address", "count", "rows", "stride")
    names += ("row_bytes", "tag", "order", "wide", *FLAGS)
    *fields, reserved = DESCRIPTOR.unpack(octets)
    provided: dict[str, int] = dict(zip(names, fields, strict=True))
    malformed = any(reserved) or any(provided[name] >> bits for name, bits in BITS.items())
    reported: dict[str, Any] = {
        name: value & (1 << BITS.get(name, 64)) - 1 for name, value in provided.items()
    }
    sizes = {name: reported.pop(name) for name in ("rows", "row_bytes", "stride")}
    table = Table(base=reported.pop("base"), **sizes)
    idx_bytes = 8 if reported.pop("wide") else 4
    flags: dict[str, Any] = {name: bool(reported.pop(name)) for name in FLAGS}
    return Descriptor(WorkRequest(table=table, idx_bytes=idx_bytes, **reported, **flags), malformed)


def carry_out_all(
    host: np.ndarray, device: np.ndarray, descriptors: list[Descriptor], idx_bits: int = 32
) -> list[Completion]:
    """Carry out the work requests of a ring, in their order; return their completions.

    :func:`sim.gather.golden.engine.carry_out` carries out each one, as if it came by registers. A
    malformed one ends as ILLEGAL.
    """
    return [
        Completion(item.request.tag, Outcome.ILLEGAL, 0)
        if item.malformed
        else carry_out(host, device, item.request, idx_bits)
        for item in descriptors
    ]
