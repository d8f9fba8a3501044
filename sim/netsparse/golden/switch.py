"""Checks a switch by the PRs that went into its ports and those that came out.

NetSparse, section 6.2. Nothing here follows the hardware: a :class:`SwitchLedger` knows which port
leads to a node and which ports lead to other racks. It checks that every PR leaves once, by the
right port, in order, and that an answer is one that the read may have. When packets move, and which
reads find their property, is up to the hardware.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sim.netsparse.golden.concatenation import HEADER_BYTES, Kind, Request


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """Says how a switch is set."""

    routes: Mapping[int, int]  #: port by node; nodes without a route are missing
    #: other ports to nodes of responses, by the port where they come in
    responses: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    uplinks: Collection[int] = ()  #: ports that lead to other racks
    property_bytes: int = 0  #: bytes of a property that is cached; 0: nothing is
    concatenate: bool = True  #: whether PRs of different packets may share one


@dataclass(frozen=True)
class Entered:
    """Describes a PR that came in: by which port, and its number."""

    request: Request
    ingress: int
    number: int
    packet: int = 0  #: number of the packet that it came in, likewise


class Wholeness:
    """Checks a switch without concatenation: no packet mixes PRs of several; counts pieces.

    The ``origin`` of a PR is the packet that it came in, and whether the PR was answered.
    """

    def __init__(self, mtu: int) -> None:
        self.mtu = mtu
        self.left: dict[Hashable, list[Sequence[Request]]] = defaultdict(list)

    def leave(self, requests: Sequence[Request], origins: Sequence[Hashable]) -> None:
        """Note that a packet leaves with PRs of those origins."""
        assert len(set(origins)) == 1, f"PRs of different packets have left in one: {requests}"
        self.left[origins[0]].append(requests)

    @property
    def pieces(self) -> int:
        """Return the packets beyond those that an MTU each would need."""
        return sum(len(packets) - self.needed(packets) for packets in self.left.values())

    def needed(self, packets: Sequence[Sequence[Request]]) -> int:
        """Return the packets that this many PRs need."""
        prs, most = sum(map(len, packets)), (self.mtu - HEADER_BYTES) // packets[0][0].wire_bytes
        return -(-prs // most)


class SwitchLedger:
    """Tracks all PRs that came and left; raises AssertionError that says what is wrong.

    PRs are told apart by (kind, src, tid, id), so those of a test differ in these.
    """

    def __init__(self, rules: SwitchRules, mtu: int = 1500) -> None:
        self.rules = rules
        self.wholeness = Wholeness(mtu)
        self.packets = 0
        self.inside: dict[tuple, Entered] = {}
        self.stored: dict[int, bytes] = {}  # properties that a cache may have, by idx
        self.last: dict[tuple, int] = defaultdict(lambda: -1)
        self.entered = 0
        self.hits = 0

    def come(self, ingress: int, requests: Sequence[Request]) -> None:
        """Note that a good packet comes by port ``ingress``; its dest has a route."""
        for request in requests:
            key = request.kind, request.src, request.tid, request.id
            assert key not in self.inside, f"two PRs of the same name: {request}"
            self.inside[key] = Entered(request, ingress, self.entered, self.packets)
            self.entered += 1
            cached = request.length == self.rules.property_bytes
            if request.kind is Kind.RESPONSE and ingress in self.rules.uplinks and cached:
                self.stored[request.idx] = request.data
        self.packets += 1

    def leave(self, egress: int, requests: Sequence[Request]) -> None:
        """Note that a packet leaves by port ``egress``."""
        origins = []
        for request in requests:
            key = request.kind, request.src, request.tid, request.id
            entered = self.inside.pop(key, None)
            origins.append((entered or self.answer(egress, request)).packet)
            if entered is None:
                continue
            assert entered.request == request, f"{entered.request} left as {request}"
            self.check_path(egress, request, entered.ingress)
            path = request.kind, entered.ingress, request.dest
            assert entered.number > self.last[path], f"out of order: {request}"
            self.last[path] = entered.number
        if not self.rules.concatenate:
            kind = requests[0].kind
            self.wholeness.leave(requests, [(packet, kind) for packet in origins])

    def answer(self, egress: int, response: Request) -> Entered:
        """Return the read that ``response`` answers, which looked it up here."""
        requested = [
            key
            for key in self.inside
            if key[0] is Kind.READ and key[1] == response.dest and key[3] == response.id
        ]
        assert response.kind is Kind.RESPONSE, f"nobody sent {response}"
        assert len(requested) == 1, f"nobody asked for {response}"
        entered = self.inside.pop(requested[0])
        read = entered.request
        assert self.rules.routes[read.dest] in self.rules.uplinks, f"no uplink, but a hit: {read}"
        assert read.length == self.rules.property_bytes, f"not cached: {read}"
        right = replace(
            read, kind=Kind.RESPONSE, dest=read.src, src=read.dest, data=self.stored[read.idx]
        )
        assert response == right, f"{right} expected, {response} came"
        self.check_path(egress, response)
        self.hits += 1
        return entered

    def check_path(self, egress: int, request: Request, ingress: int | None = None) -> None:
        """Check that the port is the PR's, which came by ``ingress`` unless a cache sent it."""
        rules, dest = self.rules, request.dest
        right = rules.routes[dest]
        if ingress is not None and request.kind is not Kind.READ:
            right = rules.responses.get(ingress, {}).get(dest, right)
        assert egress == right, f"node {dest} is behind port {right}, not {egress}"

    def check_empty(self) -> None:
        """Check that everything has left."""
        left = list(self.inside.values())
        assert not left, f"{len(left)} PRs are lost, the first {left[0]}"
