"""Models the 60-byte frame of P4SGD's AllReduce as bytes, and a receiver's verdict on any bytes."""

import struct
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from sim.golden.reduction.allreduce import Packet

LANES = 8
ETHERTYPE = 0x88B5
VERSION = 2
BYTES = 60
HEADER_BYTES = 15  # addresses, ethertype, version
IS_AGG, ACKED = 1, 2  # bits of byte 15
LAYOUT = struct.Struct(f"<6s6s2sBBIHHHBB{LANES}i")


class Quality(StrEnum):
    """Says whether bytes are a frame of ours; if several apply, the last one counts."""

    GOOD = "good"
    MALFORMED = "malformed"  # they are not 60, or have bits set that must be zero
    FOREIGN = "foreign"  # they have another destination, ethertype or version
    CORRUPT = "corrupt"  # their checksum is wrong


@dataclass(frozen=True, kw_only=True)
class WireFrame:
    """Holds the fields of a frame; addresses are six bytes in the order of the wire."""

    destination: bytes = bytes(6)
    source: bytes = bytes(6)
    ethertype: int = ETHERTYPE
    version: int = VERSION
    is_agg: bool = False
    acked: bool = False
    no_flags: int = 0  # the six other bits of byte 15
    bm: int = 0
    job: int = 0
    epoch: int = 0
    seq: int = 0
    use: int = 0
    saturated: int = 0
    payload: tuple[int, ...] = (0,) * LANES

    def to_bytes(self) -> bytes:
        """Return the frame on the wire, without checksum; ValueError for what does not fit."""
        if len(self.destination) != 6 or len(self.source) != 6 or not 0 <= self.no_flags < 64:
            raise ValueError(f"addresses are six bytes, no_flags six bits: {self}")
        try:
            return LAYOUT.pack(
                self.destination,
                self.source,
                struct.pack(">H", self.ethertype),
                self.version,
                IS_AGG * self.is_agg | ACKED * self.acked | self.no_flags << 2,
                self.bm,
                self.job,
                self.epoch,
                self.seq,
                self.use,
                self.saturated,
                *self.payload,
            )
        except struct.error as error:
            raise ValueError(f"{error}: {self}") from None

    @classmethod
    def from_bytes(cls, wire: bytes) -> "WireFrame":
        """Return the fields of 60 bytes, whatever they hold; raise ValueError for other lengths."""
        if len(wire) != BYTES:
            raise ValueError(f"a frame has {BYTES} bytes: {len(wire)}")
        destination, source, ethertype, version, flags, *numbers = LAYOUT.unpack(wire)
        bm, job, epoch, seq, use, saturated, *payload = numbers
        return cls(
            destination=destination,
            source=source,
            ethertype=int.from_bytes(ethertype, "big"),
            version=version,
            is_agg=bool(flags & IS_AGG),
            acked=bool(flags & ACKED),
            no_flags=flags >> 2,
            bm=bm,
            job=job,
            epoch=epoch,
            seq=seq,
            use=use,
            saturated=saturated,
            payload=tuple(payload),
        )

    @property
    def packet(self) -> Packet:
        """Return the fields that the protocol's rule looks at."""
        return Packet(self.is_agg, self.bm, self.use, self.acked, self.payload, self.saturated)


def judge(
    wire: bytes, corrupt: bool, address: bytes, lengths: Collection[int] = (BYTES,)
) -> Quality:
    """Return the verdict of a receiver with ``address`` on a packet; the MAC says ``corrupt``.

    Packets that are too short to tell whose they are are malformed, and so are those of other
    ``lengths``.
    """
    if corrupt:
        return Quality.CORRUPT
    if len(wire) >= HEADER_BYTES:
        ethertype = int.from_bytes(wire[12:14], "big")
        if wire[:6] != address or ethertype != ETHERTYPE or wire[14] != VERSION:
            return Quality.FOREIGN
    if len(wire) not in lengths or wire[15] & ~(IS_AGG | ACKED):
        return Quality.MALFORMED
    return Quality.GOOD
