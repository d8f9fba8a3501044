"""Checks concatenation by the PRs that went in and the packets that came out, as bytes.

NetSparse, section 6.1. Nothing here follows the hardware: a :class:`Ledger` knows when PRs
arrived and packets were marked, and finds for each packet the reason why it left when it did.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

UPPER = struct.Struct(">6s6sHBBHHHBBH4s4sHHHHQ")  # Ethernet, IPv4, UDP, reserved
LAYER = struct.Struct(">HIII")  # type, dest, len, PRs
PR = struct.Struct(">IHQI")  # src, tid, idx, id
HEADER_BYTES = UPPER.size + LAYER.size
PR_BYTES = PR.size
assert (HEADER_BYTES, PR_BYTES) == (64, 18)

ETHERTYPE, VERSION_IHL, DO_NOT_FRAGMENT, TTL, UDP, PORT = 0x0800, 0x45, 0x4000, 64, 17, 0x4E53
IP_AT, UDP_AT = 14, 34
CS3, CS4 = 0x60, 0x80  # of the DSCP and ECN byte: class selectors of reads, of responses and errors
LINE_BYTES = 128  # of the virtual form's pool


class Kind(IntEnum):
    """Names the types of packets by the number in their type field."""

    READ = 1
    RESPONSE = 2
    ERROR = 3


@dataclass(frozen=True, kw_only=True)
class Request:
    """Describes a PR to ``dest``; only a response has a property, of ``length`` bytes."""

    kind: Kind
    dest: int
    length: int
    src: int = 0
    tid: int = 0
    idx: int = 0
    id: int = 0
    data: bytes = b""

    @property
    def wire_bytes(self) -> int:
        """Return the bytes of its PR layer and its property."""
        return PR_BYTES + (self.length if self.kind == Kind.RESPONSE else 0)


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Gives node n the MAC ``mac_base + n`` and the IP ``ip_base + n``, modulo their range."""

    mac_base: int = 0
    ip_base: int = 0

    def mac(self, node: int) -> bytes:
        """Return a node's MAC address in the order of the wire."""
        return ((self.mac_base + node) % (1 << 48)).to_bytes(6, "big")

    def ip(self, node: int) -> bytes:
        """Return a node's IP address in the order of the wire."""
        return ((self.ip_base + node) % (1 << 32)).to_bytes(4, "big")


def checksum(header: bytes) -> int:
    """Compute an IPv4 header's checksum: 0 if its field is right, the field's value if it is 0."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def to_bytes(requests: Sequence[Request], node: int, addresses: Addresses) -> bytes:
    """Return the packet of ``node`` with ``requests``; raise ValueError if none can have them."""
    kinds = {(pr.kind, pr.dest, pr.length) for pr in requests}
    if len(kinds) != 1 or (requests[0].kind == Kind.ERROR and len(requests) > 1):
        raise ValueError(f"{len(requests)} PRs cannot share a packet: {sorted(kinds)}")
    kind, dest, length = kinds.pop()
    for pr in requests:
        if len(pr.data) != (length if kind == Kind.RESPONSE else 0):
            raise ValueError(f"a property of {len(pr.data)} bytes: {pr}")
    body = b"".join(PR.pack(pr.src, pr.tid, pr.idx, pr.id) + pr.data for pr in requests)
    total = HEADER_BYTES + len(body)
    traffic_class = CS3 if kind == Kind.READ else CS4

    def upper(ip_checksum: int) -> bytes:
        return UPPER.pack(
            *(
                addresses.mac(dest),
                addresses.mac(node),
                ETHERTYPE,
                VERSION_IHL,
                traffic_class,
                total - IP_AT,
            ),
            *(0, DO_NOT_FRAGMENT, TTL, UDP, ip_checksum, addresses.ip(node), addresses.ip(dest)),
            *(PORT, PORT, total - UDP_AT, 0, 0),
        )

    right = checksum(upper(0)[IP_AT:UDP_AT])
    return upper(right) + LAYER.pack(kind, dest, length, len(requests)) + body


def from_bytes(wire: bytes) -> list[Request]:
    """Parse a packet into PRs; raise ValueError if its layers do not agree with its length."""
    if len(wire) < HEADER_BYTES:
        raise ValueError(f"{len(wire)} bytes are no packet")
    if checksum(wire[IP_AT:UDP_AT]):
        raise ValueError("the IPv4 checksum is wrong")
    number, dest, length, count = LAYER.unpack_from(wire, UPPER.size)
    kind = Kind(number)
    size = PR_BYTES + (length if kind == Kind.RESPONSE else 0)
    if len(wire) != HEADER_BYTES + count * size or not count:
        raise ValueError(f"{count} PRs of {size} bytes in a packet of {len(wire)}")
    requests = []
    for start in range(HEADER_BYTES, len(wire), size):
        src, tid, idx, number = PR.unpack_from(wire, start)
        data = wire[start + PR_BYTES : start + size]
        head = Request(kind=kind, dest=dest, length=length, src=src, tid=tid, idx=idx, id=number)
        requests.append(replace(head, data=data))
    return requests


class Reason(StrEnum):
    """Names why a packet was marked; the first that applies."""

    ALONE = "alone"  # an error
    WHOLE = "whole"  # nothing is concatenated: a PR that came alone, or the end of its group
    FULL = "full"  # no other PR of its length fits
    LENGTH = "length"  # the next PR has another length
    LABEL = "label"  # the next PR has another label
    DISPLACED = "displaced"  # nothing is concatenated, and the next PR starts a group
    EXPIRED = "expired"
    EXHAUSTED = "exhausted"  # the virtual form's pool
    FLUSHED = "flushed"  # no PR will come that could join


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Sets the rules that a concatenator keeps."""

    mtu: int = 1500
    delay: int = 500
    concatenate: bool = True  #: whether PRs of different groups may share a packet
    lateness: int = 0  #: a packet is marked at most delay + lateness after its first PR entered
    open_packets: int = 1 << 30  #: virtual form: with this many the oldest is marked
    settling: int = 0  #: cycles that the virtual form may take to see that its pool is short
    open_lines: int = 1 << 30  #: virtual form: with this many lines of open packets too
    flushed: int | None = None  #: from this cycle on no packet waits for further PRs; None: never


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """Describes a PR that came: when its first beat moved, and its last entered its queue."""

    request: Request
    moved: int
    entered: int
    starts: bool = True  #: it starts a group of PRs that belong together, one PR or more
    ends: bool = True  #: it ends the group
    label: int = 0  #: PRs of different labels share no packet


@dataclass(frozen=True, kw_only=True)
class Departure:
    """Describes a packet that left, and when it was marked."""

    wire: bytes
    marked: int
    label: int = 0  #: label of all of its PRs


@dataclass(frozen=True)
class Left:
    """Describes a packet whose PRs have been found among those that came."""

    prs: tuple[Arrival, ...]
    marked: int
    next: Arrival | None  #: arrival behind them for the same destination


class Ledger:
    """Checks all PRs that came and all packets that left, as a whole.

    Every PR left exactly once, in the order of its kind and destination, in a packet with the
    right bytes, within the MTU, marked in time and for a reason. AssertionError says what is
    wrong; ``reasons`` holds one a packet.
    """

    def __init__(
        self,
        arrivals: Iterable[Arrival],
        departures: Iterable[Departure],
        rules: Rules,
        node: int,
        addresses: Addresses,
    ) -> None:
        self.rules = rules
        self.packets = matched(arrivals, departures, node, addresses)
        marks = [packet.marked for packet in self.packets]
        assert marks == sorted(marks), "packets do not leave in the order of their marks"
        self.reasons = [self.checked(packet) for packet in self.packets]

    def checked(self, packet: Left) -> Reason:
        """Return why ``packet`` left; raise AssertionError if it had no reason to."""
        rules, prs, marked = self.rules, packet.prs, packet.marked
        size = prs[0].request.wire_bytes
        total = HEADER_BYTES + len(prs) * size
        assert total <= rules.mtu, f"a packet of {total} bytes"
        expiry = prs[0].entered + rules.delay + rules.lateness
        # The second of two that are marked at once follows a cycle later.
        assert marked <= max(expiry, prs[-1].entered + 1), (
            f"marked {marked - expiry} cycles late: {prs[0]}"
        )
        assert marked >= prs[-1].entered, f"marked before its last PR entered: {prs[-1]}"
        follower = packet.next
        if prs[0].request.kind == Kind.ERROR:
            assert len(prs) == 1, f"{len(prs)} errors in a packet"
            assert marked <= prs[0].entered + 1, f"an error waited: {prs[0]}"
            return Reason.ALONE
        if not rules.concatenate:
            assert not any(pr.ends for pr in prs[:-1]), f"PRs behind the end of a group: {prs}"
            assert not any(pr.starts for pr in prs[1:]), f"a group joined another: {prs}"
            if prs[-1].ends:
                assert marked <= prs[-1].entered + 1, f"a whole group waited: {prs[-1]}"
                return Reason.WHOLE
        if total + size > rules.mtu:
            return Reason.FULL
        if not rules.concatenate and follower is not None and follower.starts:
            if follower.moved < marked:
                return Reason.DISPLACED
        elif follower is not None:
            other = Reason.LABEL if follower.label != prs[0].label else None
            if follower.request.length != prs[0].request.length:
                other = Reason.LENGTH
            if other is None:
                assert follower.entered >= marked - 1, f"did not join: {follower}"
            elif follower.moved < marked:
                return other
        if marked >= prs[0].moved + rules.delay:
            return Reason.EXPIRED
        if rules.flushed is not None and marked >= rules.flushed:
            return Reason.FLUSHED
        assert self.exhausted(packet), f"marked for no reason at {marked}: {prs[0]}"
        return Reason.EXHAUSTED

    def exhausted(self, packet: Left) -> bool:
        """Return whether the pool was short and ``packet`` the oldest one that was open."""
        now = packet.marked
        # What has entered by now and was still open when the pool may have been looked at.
        near = [
            (other, sum(pr.request.wire_bytes for pr in entered))
            for other in self.packets
            if other.marked >= now - self.rules.settling
            and (entered := [pr for pr in other.prs if pr.moved <= now])
        ]
        lines = sum(-(-size // LINE_BYTES) for _, size in near)
        short = len(near) >= self.rules.open_packets or lines >= self.rules.open_lines
        still = (other for other, _ in near if other.marked > now + 1)
        return short and all(packet.prs[0].moved <= other.prs[0].moved for other in still)


def matched(arrivals, departures, node: int, addresses: Addresses) -> list[Left]:
    """Match the PRs of every packet with those that came, in order; none is left over."""
    waiting = defaultdict(list)
    for arrival in arrivals:
        waiting[arrival.request.kind, arrival.request.dest].append(arrival)
    taken = defaultdict(int)
    packets = []
    for departure in departures:
        requests = from_bytes(departure.wire)
        assert departure.wire == to_bytes(requests, node, addresses), departure.wire.hex()
        key = requests[0].kind, requests[0].dest
        start, end = taken[key], taken[key] + len(requests)
        prs = waiting[key][start:end]
        assert [pr.request for pr in prs] == requests, f"other PRs for {key} from number {start}"
        labels = {pr.label for pr in prs}
        assert labels == {departure.label}, f"PRs of labels {labels} left with {departure.label}"
        taken[key] = end
        after = waiting[key][end] if end < len(waiting[key]) else None
        packets.append(Left(tuple(prs), departure.marked, after))
    for key, prs in waiting.items():
        assert taken[key] == len(prs), f"{len(prs) - taken[key]} PRs for {key} did not leave"
    return packets
