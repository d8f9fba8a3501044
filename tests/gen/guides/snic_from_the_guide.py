"""Models a host of a NetSparse SNIC, and its packets, from its programming guide alone."""

import re
from dataclasses import dataclass

import numpy as np

DESCRIPTOR_BYTES, ENTRY_BYTES, HEADER_BYTES, PR_BYTES = 64, 16, 64, 18
READ, RESPONSE, ERROR = 1, 2, 3
DSCP = {READ: 0x60, RESPONSE: 0x80, ERROR: 0x80}
ROW = re.compile(r"\| (0x[0-9A-F]+) \| `(\w+)` \| `(\w+)`: (\d+)(?::(\d+))? \|")


class Registers:
    """The registers that the guide's tables list; `write` returns the accesses to make."""

    def __init__(self, guide):
        """Read where fields are, and what settings are after reset, from the guide's text."""
        text = guide.partition("## On the Alveo U280")[0]
        self.places = {}
        for address, _, field, high, low in ROW.findall(text):
            first = int(low or high)
            self.places[field] = (int(address, 16), first, int(high) - first + 1)
        line = re.search(r"After reset all settings are 0(.*)\.\n", text)
        self.words = {}
        for field, value in re.findall(r"`(\w+)` (\d+)", line[1]):
            self._set(field, int(value))

    def _set(self, field, value):
        address, first, bits = self.places[field]
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{field} has {bits} bits: {value}")
        stored = self.words.get(address, 0) & ~(((1 << bits) - 1) << first)
        self.words[address] = stored | value << first
        return address

    def write(self, **fields):
        """Return [(address, word)] that set the fields, those of a register together."""
        addresses = [self._set(field, value) for field, value in fields.items()]
        return [(address, self.words[address]) for address in dict.fromkeys(addresses)]

    def halves(self, **numbers):
        """Return the accesses that set numbers of two registers."""
        accesses = []
        for name, number in numbers.items():
            accesses += self.write(**{f"{name}_low": number % (1 << 32)})
            accesses += self.write(**{f"{name}_high": number >> 32})
        return accesses

    def command(self, field):
        """Return the access of a command; the word is not kept."""
        address, first, _ = self.places[field]
        return [(address, 1 << first)]


def partition_writes(registers, node, boundaries, nodes, mac_base, ip_base):
    """Return the accesses of steps 2 and 3; `boundaries` has the number of idxs at its end."""
    accesses = registers.write(
        node=node,
        mac_base_low=mac_base % (1 << 32),
        mac_base_high=mac_base >> 32,
        ip_base=ip_base,
    )
    accesses += registers.halves(
        first=boundaries[node], end=boundaries[node + 1], columns=boundaries[-1]
    )
    for other in range(nodes):
        boundary = boundaries[other] if other < len(boundaries) else boundaries[-1]
        accesses += registers.halves(boundary=boundary)
        accesses += registers.write(boundary_node=other)
        accesses += registers.command("write_boundary")
    return accesses


@dataclass(frozen=True)
class Request:
    """A work request."""

    unit: int
    tag: int
    idx_address: int
    count: int
    idx_bytes: int
    property_address: int
    property_bytes: int
    watchdog: int

    def __post_init__(self):
        """Refuse what the guide calls illegal in every build."""
        if self.idx_bytes not in (4, 8) or self.idx_address % self.idx_bytes:
            raise ValueError("the idx array is not aligned to its idxs of 4 or 8 bytes")
        if self.property_address % 4 or self.property_bytes % 4 or self.property_bytes < 4:
            raise ValueError("properties are not multiples of 4")


def submit_writes(registers, request):
    """Return the accesses of step 7."""
    accesses = registers.write(
        request_unit=request.unit,
        request_tag=request.tag,
        idx_wide=int(request.idx_bytes == 8),
        idx_count=request.count,
        property_bytes=request.property_bytes,
        watchdog=request.watchdog,
    )
    accesses += registers.halves(
        idx_address=request.idx_address, property_address=request.property_address
    )
    return accesses + registers.command("submit")


def idx_array(idxs, idx_bytes):
    """Return the bytes from idx_address on."""
    return np.asarray(idxs, dtype=f"<u{idx_bytes}").tobytes()


def descriptor(request):
    """Return the 64 bytes of a work request in the request ring."""
    octets = bytearray(DESCRIPTOR_BYTES)
    for first, last, value in (
        (0, 7, request.idx_address),
        (8, 15, request.property_address),
        (16, 19, request.count),
        (20, 23, request.watchdog),
        (24, 25, request.property_bytes),
        (26, 27, request.tag),
        (28, 28, request.unit),
        (29, 29, int(request.idx_bytes == 8)),
    ):
        octets[first : last + 1] = value.to_bytes(last + 1 - first, "little")
    return bytes(octets)


@dataclass(frozen=True)
class Entry:
    """A completion in the completion ring."""

    tag: int
    unit: int
    cause: int
    consumer: int
    phase: int


def entry_of(octets):
    """Return the completion in 16 bytes."""
    return Entry(
        tag=int.from_bytes(octets[0:2], "little"),
        unit=octets[2],
        cause=octets[3],
        consumer=int.from_bytes(octets[4:6], "little"),
        phase=octets[15] >> 7,
    )


class Rings:
    """Both rings of a host, in `memory`, a bytearray of the host's; indices count from 0."""

    def __init__(self, registers, memory, request_address, request_size, address, size):
        self.registers, self.memory = registers, memory
        self.request_address, self.request_size = request_address, request_size
        self.address, self.size = address, size
        self.produced = self.consumed = self.read = 0

    def open(self):
        """Return the accesses that begin."""
        places = ENTRY_BYTES << self.size
        self.memory[self.address : self.address + places] = bytes(places)
        self.produced = self.consumed = self.read = 0
        accesses = self.registers.write(request_producer=0, completion_consumer=0)
        accesses += self.registers.halves(
            request_ring_address=self.request_address, completion_ring_address=self.address
        )
        return accesses + self.registers.write(
            request_ring=1,
            completion_ring=1,
            request_ring_size=self.request_size,
            completion_ring_size=self.size,
        )

    def submit(self, requests):
        """Write descriptors; return the write of the doorbells."""
        for request in requests:
            if self.produced - self.consumed == 1 << self.request_size:
                raise ValueError("no place is free")
            place = self.produced % (1 << self.request_size)
            at = self.request_address + DESCRIPTOR_BYTES * place
            self.memory[at : at + DESCRIPTOR_BYTES] = descriptor(request)
            self.produced += 1
        return self.doorbells()

    def doorbells(self):
        """Return the one write that tells both numbers."""
        return self.registers.write(
            request_producer=self.produced % (1 << 16), completion_consumer=self.read % (1 << 16)
        )

    def completions(self):
        """Return the completions that are new."""
        result = []
        while True:
            turn, place = divmod(self.read, 1 << self.size)
            at = self.address + ENTRY_BYTES * place
            entry = entry_of(self.memory[at : at + ENTRY_BYTES])
            if entry.phase != (turn + 1) % 2:
                return result
            self.read += 1
            self.consumed += (entry.consumer - self.consumed) % (1 << 16)
            result.append(entry)


def filter_image(has_come):
    """Return the filter's bytes from filter_address on, for a bool of each idx."""
    bits = np.asarray(has_come, dtype=np.uint8)
    lines = -(-len(bits) // 512)
    padded = np.zeros(512 * lines, dtype=np.uint8)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little").tobytes()


def gather(memory, properties, idxs, first, end, columns, property_address, property_bytes):
    """Do to host memory what a request that ends as DONE does; return the remote idxs, sorted.

    `properties` are the owners' [columns, property_bytes], of bytes.
    """
    idxs = np.asarray(idxs, dtype=np.int64)
    if (idxs >= columns).any():
        raise ValueError("RANGE")
    remote = np.unique(idxs[(idxs < first) | (idxs >= end)])
    for idx in remote:
        at = property_address + int(idx) * property_bytes
        memory[at : at + property_bytes] = bytes(properties[idx])
    return remote


@dataclass(frozen=True)
class Pr:
    """A property request."""

    src: int
    tid: int
    idx: int
    id: int
    data: bytes = b""


def checksum(octets):
    """Return the checksum of RFC 1071."""
    total = int(np.frombuffer(octets, dtype=">u2").sum(dtype=np.int64))
    while total > 0xFFFF:
        total = total % 0x10000 + total // 0x10000
    return 0xFFFF - total


def packet(kind, source, dest, length, prs, mac_base, ip_base, mtu):
    """Return the bytes of a packet from node `source` to node `dest`."""
    if not prs or (kind == ERROR and len(prs) != 1):
        raise ValueError("a packet has PRs, of errors one")
    body = b""
    for pr in prs:
        if len(pr.data) != (length if kind == RESPONSE else 0):
            raise ValueError("only responses have properties")
        body += b"".join(
            value.to_bytes(size, "big")
            for value, size in ((pr.src, 4), (pr.tid, 2), (pr.idx, 8), (pr.id, 4))
        )
        body += pr.data
    size = HEADER_BYTES + len(body)
    if size > mtu:
        raise ValueError("the packet is too long")
    octets = bytearray(HEADER_BYTES)
    for first, last, value in (
        (0, 5, mac_base + dest),
        (6, 11, mac_base + source),
        (12, 13, 0x800),
        (14, 14, 0x45),
        (15, 15, DSCP[kind]),
        (16, 17, size - 14),
        (20, 21, 0x4000),
        (22, 22, 0x40),
        (23, 23, 0x11),
        (26, 29, ip_base + source),
        (30, 33, ip_base + dest),
        (34, 35, 0x4E53),
        (36, 37, 0x4E53),
        (38, 39, size - 34),
        (50, 51, kind),
        (52, 55, dest),
        (56, 59, length),
        (60, 63, len(prs)),
    ):
        octets[first : last + 1] = value.to_bytes(last + 1 - first, "big")
    octets[24:26] = checksum(bytes(octets[14:34])).to_bytes(2, "big")
    return bytes(octets) + body


def parsed(octets):
    """Return kind, dest, length and PRs of a packet."""

    def number(first, last):
        return int.from_bytes(octets[first : last + 1], "big")

    kind, dest, length, count = number(50, 51), number(52, 55), number(56, 59), number(60, 63)
    prs, at = [], HEADER_BYTES
    for _ in range(count):
        head = (number(at, at + 3), number(at + 4, at + 5))
        head += (number(at + 6, at + 13), number(at + 14, at + 17))
        at += PR_BYTES
        data = octets[at : at + length] if kind == RESPONSE else b""
        at += len(data)
        prs.append(Pr(*head, data))
    if at != len(octets):
        raise ValueError("LENGTH")
    return kind, dest, length, prs


def verdict(octets, node, nodes, mtu, max_bytes, responses, broken=False):
    """Return why a packet is dropped, or '' if it is good."""

    def number(first, last):
        return int.from_bytes(octets[first : last + 1], "big")

    if broken:
        return "BROKEN"
    own = ((12, 13, 0x800), (14, 14, 0x45), (23, 23, 0x11), (36, 37, 0x4E53))
    if len(octets) < 38 or any(number(a, b) != value for a, b, value in own):
        return "FOREIGN"
    if len(octets) > mtu:
        return "OVERSIZE"
    if len(octets) < HEADER_BYTES:
        return "LENGTH"
    kind, dest, length, count = number(50, 51), number(52, 55), number(56, 59), number(60, 63)
    if kind not in ((RESPONSE, ERROR) if responses else (READ,)):
        return "KIND"
    if dest != node:
        return "DEST"
    each = PR_BYTES + (length if kind == RESPONSE else 0)
    legal = length % 4 == 0 and 4 <= length <= max_bytes
    lengths = {len(octets), number(16, 17) + 14, number(38, 39) + 34, HEADER_BYTES + count * each}
    if not legal or not count or (kind == ERROR and count != 1) or len(lengths) != 1:
        return "LENGTH"
    if any(pr.src >= nodes for pr in parsed(octets)[3]):
        return "SOURCE"
    return ""


def served(octets, node, first, end, served_bytes, property_of):
    """Return [(kind, dest, length, Pr)], what a server answers to a packet of reads."""
    _, _, length, prs = parsed(octets)
    answers = []
    for pr in prs:
        good = first <= pr.idx < end and length == served_bytes
        data = property_of(pr.idx) if good else b""
        kind = RESPONSE if good else ERROR
        answers.append((kind, pr.src, length, Pr(node, pr.tid, pr.idx, pr.id, data)))
    return answers
