"""Packs and unpacks NetSparse's packets, from the layouts of the hardware."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import data

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import (
    DO_NOT_FRAGMENT,
    IP_OFFSET,
    MAX_PROPERTY_BYTES,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    PR_LAYER,
    PRIORITIES,
    UDP_OFFSET,
    Kind,
    dscp_ecn,
)
from sim.harness.payloads import coding_of, unpack

Beat = tuple[int, int, int, int]  #: tdata, tkeep, tlast, tuser


@dataclass(frozen=True, kw_only=True)
class Pr:
    """Describes a property request on the wire."""

    src: int  #: node: who asks; in responses, who owns the idx
    tid: int  #: RIG unit of the node that asks
    idx: int
    id: int
    payload: bytes = b""  #: the property, of responses only


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Holds where a packet comes from and goes to, below UDP."""

    destination_mac: int = 0
    source_mac: int = 0
    source_ip: int = 0
    destination_ip: int = 0

    @classmethod
    def drawn(cls, bits: Callable[[int], int]) -> "Addresses":
        """Return addresses drawn by ``bits``, which takes the width of a number."""
        macs = {"destination_mac": bits(48), "source_mac": bits(48)}
        return cls(**macs, source_ip=bits(32), destination_ip=bits(32))


@dataclass(frozen=True, kw_only=True)
class Packet:
    """Holds a packet of property requests."""

    kind: Kind
    dest: int  #: node
    length: int  #: bytes of a property, of reads too
    prs: Sequence[Pr]
    addresses: Addresses = field(default_factory=Addresses)

    def __post_init__(self) -> None:
        if not self.prs:
            raise ValueError("a packet has at least one PR")
        if self.kind is Kind.ERROR and len(self.prs) != 1:
            raise ValueError(f"an error packet has one PR: {len(self.prs)}")
        if self.length % 4 or not 4 <= self.length <= MAX_PROPERTY_BYTES:
            raise ValueError(
                f"length must be a multiple of 4 from 4 to {MAX_PROPERTY_BYTES} bytes:"
                f" {self.length}"
            )
        for pr in self.prs:
            if len(pr.payload) != payload_bytes(self.kind, self.length):
                raise ValueError(
                    f"each PR of this packet has {payload_bytes(self.kind, self.length)} bytes"
                    f" of property: {len(pr.payload)}"
                )

    @classmethod
    def drawn(
        cls,
        bits: Callable[[int], int],
        count: int,
        *,
        kind: Kind,
        length: int,
        src: Callable[[], int] | None = None,
        **fields: Any,
    ) -> "Packet":
        """Return a packet of ``count`` PRs drawn by ``bits``, and by ``src`` if that is given."""
        size = payload_bytes(kind, length)
        prs = tuple(
            Pr(
                src=src() if src else bits(32),
                tid=bits(16),
                idx=bits(64),
                id=bits(32),
                payload=bits(8 * size).to_bytes(size, "little"),
            )
            for _ in range(count)
        )
        shared: dict[str, Any] = {"addresses": Addresses.drawn(bits)} | fields
        return cls(kind=kind, length=length, prs=prs, **shared)

    @property
    def size(self) -> int:
        """Return the number of all bytes, which the MTU bounds."""
        each = PR_BYTES + payload_bytes(self.kind, self.length)
        return PACKET_HEADER_BYTES + len(self.prs) * each

    def to_bytes(self) -> bytes:
        """Return the packet's bytes without checksum; raise ValueError for what does not fit."""
        upper: dict[str, Any] = PACKET_CONSTANTS | vars(self.addresses)
        upper |= {"total_length": self.size - IP_OFFSET, "udp_length": self.size - UDP_OFFSET}
        upper["flags_fragment"] = DO_NOT_FRAGMENT
        upper["dscp_ecn"] = dscp_ecn(PRIORITIES[self.kind is not Kind.READ])
        concatenation = {
            "type": self.kind.value,
            "dest": self.dest,
            "len": self.length,
            "prs": len(self.prs),
        }
        octets = to_octets(PACKET_HEADER, {"upper": upper, "concatenation": concatenation})
        upper["ip_checksum"] = ip_checksum(octets[IP_OFFSET:UDP_OFFSET])
        octets = to_octets(PACKET_HEADER, {"upper": upper, "concatenation": concatenation})
        for pr in self.prs:
            fields = {name: getattr(pr, name) for name in PR_LAYER.members}
            octets += to_octets(PR_LAYER, fields) + pr.payload
        return octets

    @classmethod
    def from_bytes(cls, octets: bytes) -> "Packet":
        """Parse the packet that ``octets`` are; raise ValueError unless they are one, to the last
        bit.

        Addresses may be any; of the other upper layers nothing differs from what
        :meth:`to_bytes` makes.
        """
        if len(octets) < PACKET_HEADER_BYTES:
            raise ValueError(f"a packet has at least {PACKET_HEADER_BYTES} bytes: {len(octets)}")
        header = from_octets(PACKET_HEADER, octets[:PACKET_HEADER_BYTES])
        shared = header["concatenation"]
        kind = Kind(shared["type"])
        each = PR_BYTES + payload_bytes(kind, shared["len"])
        if len(octets) != PACKET_HEADER_BYTES + shared["prs"] * each:
            raise ValueError(f"{shared['prs']} PRs of {each} bytes do not make {len(octets)} bytes")
        packet = cls(
            kind=kind,
            dest=shared["dest"],
            length=shared["len"],
            prs=tuple(
                Pr(
                    **from_octets(PR_LAYER, octets[at : at + PR_BYTES]),
                    payload=octets[at + PR_BYTES : at + each],
                )
                for at in range(PACKET_HEADER_BYTES, len(octets), each)
            ),
            addresses=Addresses(**{name: header["upper"][name] for name in vars(Addresses())}),
        )
        if packet.to_bytes() != octets:
            raise ValueError(f"upper layers that are not ours: {header['upper']}")
        return packet


def payload_bytes(kind: Kind, length: int) -> int:
    """Return the number of bytes that follow each PR of such a packet."""
    return length if kind is Kind.RESPONSE else 0


def max_prs(kind: Kind, length: int, mtu: int = 1500) -> int:
    """Return how many PRs a packet holds at most."""
    if kind is Kind.ERROR:
        return 1
    return (mtu - PACKET_HEADER_BYTES) // (PR_BYTES + payload_bytes(kind, length))


def to_octets(layout: data.StructLayout, value: Any) -> bytes:
    """Return a big-endian header as bytes of the wire."""
    coding = coding_of(layout)
    return coding.pack(value).to_bytes(coding.shape.width // 8, "big")


def from_octets(layout: data.StructLayout, octets: bytes) -> dict[str, Any]:
    """Return the fields of a header."""
    return unpack(layout, int.from_bytes(octets, "big"))


def ip_checksum(header: bytes) -> int:
    """Compute the Internet checksum (RFC 1071); 0 for a header that already has its own."""
    total = sum(int.from_bytes(header[k : k + 2], "big") for k in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def to_beats(octets: bytes, *, broken: bool = False) -> list[Beat]:
    """Return a packet as beats of a 512-bit AXI4-Stream; ``broken`` raises the last tuser."""
    if not octets:
        raise ValueError("a packet has at least one byte")
    beats = []
    for at in range(0, len(octets), BEAT_BYTES):
        part, last = octets[at : at + BEAT_BYTES], at + BEAT_BYTES >= len(octets)
        keep = (1 << len(part)) - 1
        beats.append((int.from_bytes(part, "little"), keep, int(last), int(last and broken)))
    return beats


def from_beats(beats: Sequence[Beat]) -> bytes:
    """Return the bytes of one packet; raise ValueError for beats that no whole packet has."""
    octets = b""
    for number, (tdata, tkeep, tlast, _) in enumerate(beats, start=1):
        ends = number == len(beats)
        stored = tkeep.bit_count()
        if (
            tlast != ends
            or tkeep != (1 << stored) - 1
            or not stored
            or stored < BEAT_BYTES * (not ends)
        ):
            raise ValueError(f"beat {number} of {len(beats)}: tkeep {tkeep:#x}, tlast {tlast}")
        octets += tdata.to_bytes(BEAT_BYTES, "little")[:stored]
    return octets
