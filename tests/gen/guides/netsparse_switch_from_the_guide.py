"""Models a NetSparse switch, packet by packet, from its programming guide alone.

What a packet is, the guides of SNIC and switch tell alike: that part is the SNIC's reader.
"""

from collections import Counter
from dataclasses import dataclass, field

from tests.gen.guides.snic_from_the_guide import (
    ERROR,
    HEADER_BYTES,
    PR_BYTES,
    READ,
    RESPONSE,
    Pr,
    packet,
    parsed,
    verdict,
)

BEAT_BYTES, SEGMENT_BYTES = 64, 16
READS, RESPONSES = "reads", "responses"


@dataclass
class Cache:
    """The Property Cache of a middle pipe; a row lists what it holds, the latest last."""

    segments: int
    sets: int
    ways: int
    property_bytes: int = 0
    rows: dict = field(default_factory=dict)

    def row(self, idx):
        """Return the row of an idx."""
        mode = 1
        while SEGMENT_BYTES * mode < self.property_bytes:
            mode *= 2
        return self.rows.setdefault((idx % self.sets, idx // self.sets % self.segments // mode), {})

    def bypasses(self, length):
        """Return whether properties of this length are not those that the cache is set for."""
        legal = 0 < self.property_bytes <= SEGMENT_BYTES * self.segments
        return not legal or length != self.property_bytes

    def look_up(self, idx, length):
        """Return what becomes of a lookup, and the property or None."""
        if self.bypasses(length):
            return "bypassed", None
        row = self.row(idx)
        if idx not in row:
            return "miss", None
        row[idx] = row.pop(idx)
        return "hit", row[idx]

    def keep(self, idx, data):
        """Return what becomes of the property of a response."""
        if self.bypasses(len(data)):
            return ["bypassed"]
        row = self.row(idx)
        if idx in row:
            return ["present"]
        replaced = len(row) == self.ways
        if replaced:
            del row[next(iter(row))]
        row[idx] = data
        return ["inserted"] + ["replaced"] * replaced


@dataclass
class Joined:
    """PRs that share a packet, behind a middle pipe."""

    pipe: int
    kind: int
    egress: int
    dest: int
    length: int
    prs: list


@dataclass
class Switch:
    """A switch; ``counts`` has (what, port or pipe, name)."""

    ports: int
    pipes: int
    nodes: int
    mtu: int
    most_bytes: int
    segments: int
    sets: int
    ways: int
    idx_bits: int
    routes: dict = field(default_factory=dict)
    uplinks: int = 0
    number: int = 0
    mac_base: int = 0
    ip_base: int = 0
    cache: bool = True
    concatenate: bool = True
    counts: Counter = field(default_factory=Counter)

    def configure(self, property_bytes):
        """Empty the caches, for properties of this size."""
        sizes = (self.segments, self.sets, self.ways, property_bytes)
        self.caches = [Cache(*sizes) for _ in range(self.pipes)]

    def take(self, kind, port, packets):
        """Return [(class, port, octets, broken)] that leave when packets have come by a port.

        ``packets`` are [(octets, broken)] of one class, so close together that none of their PRs
        leaves before the last has come; they are the only ones.
        """
        left, joined = [], []
        for octets, broken in packets:
            octets, broken, egress = self.enter(kind, port, octets, broken)
            if egress is None:
                continue
            if not self.pipes:
                left.append((kind, egress, octets, broken))
                continue
            pipe = (egress if kind == READS else port) % self.pipes
            if not self.concatenate:
                left += self.leave(joined)
                joined = []
            self.meet(pipe, kind, port, octets, broken, egress, joined)
        left += self.leave(joined)
        for way, to, octets, _ in left:
            self.counts["port", to, f"{way}_out_packets"] += 1
            self.counts["port", to, f"{way}_out_bytes"] += len(octets)
        return left

    def enter(self, kind, port, octets, broken):
        """Return a packet as its port lets it in, and the port that it leaves by, or None."""

        def count(name, by=1):
            self.counts["port", port, f"{kind}_{name}"] += by

        count("in_packets")
        count("in_bytes", len(octets))
        if len(octets) <= HEADER_BYTES:
            count("short")
            return octets, broken, None
        egress = self.routes.get(int.from_bytes(octets[52:56], "big"))
        most = -(-self.mtu // BEAT_BYTES) * BEAT_BYTES
        if egress is None:
            count("no_route")
        elif len(octets) > most:
            count("cut")
            return octets[:most], True, egress
        return octets, broken, egress

    def meet(self, pipe, kind, port, octets, broken, egress, joined):
        """Let the PRs of a packet meet the cache; those that leave are added to ``joined``."""

        def count(name, by=1):
            self.counts["pipe", pipe, name] += by

        dest = int.from_bytes(octets[52:56], "big")
        sizes = (self.nodes, self.mtu, self.most_bytes, kind == RESPONSES)
        why = verdict(octets, dest, *sizes, broken)
        if why:
            count(f"{kind}_dropped_{why.lower()}")
            return
        is_a, dest, length, prs = parsed(octets)
        count(f"{kind}_received_packets")
        count(f"{kind}_received_bytes", len(octets))
        count(f"{kind}_received_prs", len(prs))
        for pr in prs:
            out, to, for_node = pr, egress, dest
            cached = self.cache and pr.idx < 1 << self.idx_bits
            leaves = is_a
            if is_a == READ and cached and self.uplinks >> egress & 1 and pr.src in self.routes:
                found, data = self.caches[pipe].look_up(pr.idx, length)
                count(f"cache_{found}")
                if data is not None:
                    leaves, to, for_node = RESPONSE, self.routes[pr.src], pr.src
                    out = Pr(dest, pr.tid, pr.idx, pr.id, data)
            elif is_a == RESPONSE and cached and self.uplinks >> port & 1:
                for what in self.caches[pipe].keep(pr.idx, pr.data):
                    count(f"cache_{what}")
            self.join(joined, Joined(pipe, leaves, to, for_node, length, [out]))

    def join(self, joined, one):
        """Add a PR to the packet that it may share, which is the last for its node, or open one."""
        others = [k for k in joined if (k.pipe, k.kind, k.dest) == (one.pipe, one.kind, one.dest)]
        each = PR_BYTES + (one.length if one.kind == RESPONSE else 0)
        if others and one.kind != ERROR:
            last = others[-1]
            room = HEADER_BYTES + (len(last.prs) + 1) * each <= self.mtu
            if room and (last.egress, last.length) == (one.egress, one.length):
                last.prs += one.prs
                return
        joined.append(one)

    def leave(self, joined):
        """Return the packets in which PRs leave."""
        left = []
        for one in joined:
            kind = READS if one.kind == READ else RESPONSES
            where = (self.mac_base, self.ip_base, self.mtu)
            octets = packet(one.kind, self.number, one.dest, one.length, one.prs, *where)
            for name, by in (("packets", 1), ("bytes", len(octets)), ("prs", len(one.prs))):
                self.counts["pipe", one.pipe, f"{kind}_sent_{name}"] += by
            bucket = min(1 << len(one.prs).bit_length() - 1, 128)
            self.counts["pipe", one.pipe, f"{kind}_sent_prs_{bucket}"] += 1
            left.append((kind, one.egress, octets, False))
        return left


def set_up_writes(registers, switch, property_bytes, read_delay, response_delay):
    """Return the accesses of steps 2 to 5 but the last wait."""
    accesses = []
    for node in range(switch.nodes):
        port = switch.routes.get(node)
        accesses += registers.write(route_node=node)
        accesses += registers.write(route_port=port or 0, route_known=int(port is not None))
        accesses += registers.command("write_route")
    accesses += registers.write(uplinks=switch.uplinks, node=switch.number)
    accesses += registers.halves(mac_base=switch.mac_base)
    accesses += registers.write(ip_base=switch.ip_base)
    accesses += registers.write(read_delay=read_delay, response_delay=response_delay)
    accesses += registers.write(cache=int(switch.cache), concatenate=int(switch.concatenate))
    accesses += registers.write(property_bytes=property_bytes)
    return accesses + registers.command("configure")
