"""Checks a whole middle pipe with all that is before and after it in a switch.

The order in which reads and responses meet in the cache is the hardware's business. What follows
from that order is not: the accesses that the cache gets are put through its golden model, and what
leaves must be what the model says.
"""

import random
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from typing import Any, cast

import cocotb
from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.wiring import Out
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from hdl.netsparse.middle_pipe.middle_pipe import MiddlePipe
from hdl.netsparse.property_cache.params import PropertyCacheParams
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from hdl.netsparse.switch.pipe_fabric import PipeFabric
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Source, cycle, never, start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from sim.netsparse.golden.property_cache import Outcome, PropertyCache
from sim.netsparse.golden.switch import Wholeness
from sim.netsparse.links import FIELDS, Receiver
from sim.netsparse.wire import from_beats, to_beats
from tests.hdl.netsparse.switch.bench import ADDRESSES, NODE

PIPE = NetSparseSwitchParams(  # two nodes, an uplink
    ports=3,
    pipes=1,
    nodes=6,
    mtu=594,
    most_property_bytes=192,
    most_delay=255,
    receive_packets=2,
    output_beats=512,
    cache=PropertyCacheParams(
        cache_bytes=1024, segments=8, ways=2, idx_bits=16, latency=10, style="auto"
    ),
)
UPLINK = 2
ROUTES = {0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 5: 2}
LENGTH = 32  #: bytes of the properties that are cached
FLIPS = {"foreign": 12, "kind": 51, "dest": 52, "source": 64}  #: a byte whose bits make it wrong


def rooms(params: NetSparseSwitchParams) -> data.StructLayout:
    """Return what the two rooms are told in a cycle."""
    classes = {}
    for payload, name in enumerate(CLASSES):
        room = params.output_room(bool(payload))
        classes[name] = data.StructLayout(
            {
                "packets": room.ports,
                "item": room.item_claim,
                "gives": data.ArrayLayout(room.give, room.gives),
                "left": room.ports,
            }
        )
    return data.StructLayout(classes)


def in_view(params: NetSparseSwitchParams) -> dict[str, Any]:
    """Return what a :class:`SeenPipe` shows of its inside."""
    return {
        "accessed": Out(1),
        "access": Out(params.cache.access),
        "entered": Out(1),  # a read, past the gate
        "entry": Out(params.read_entry),
        "rooms": Out(rooms(params)),
    }


class SeenPipe(MiddlePipe):
    """A middle pipe that shows the accesses of its cache and what its rooms are told."""

    def __init__(self, params: NetSparseSwitchParams) -> None:
        pipe = MiddlePipe(params)
        self.latencies, self.queues = pipe.latencies, pipe.queues
        Component.__init__(self, params, {**pipe.signature.members, **in_view(params)})

    def elaborate(self, platform) -> Module:
        m = cast(Module, super().elaborate(platform))
        parts: Any = m.submodules
        m.d.comb += [
            self.accessed.eq(parts.cache.access_valid),
            self.access.eq(parts.cache.access),
            self.entered.eq(parts.gate.enters),
            self.entry.eq(parts.gate.entry),
        ]
        for name in CLASSES:
            room, seen = parts[f"{name}_room"], self.rooms[name]
            m.d.comb += [
                seen.packets.eq(room.packets),
                seen.item.eq(room.item),
                *(seen.gives[k].eq(give) for k, give in enumerate(room.gives)),
                seen.left.eq(room.left),
            ]
        return m


class WatchedPipe(PipeFabric):
    """The one middle pipe of a switch, with its inside in view."""

    watched_as = PipeFabric

    def __init__(self, params: NetSparseSwitchParams) -> None:
        self.latencies = PipeFabric(params).latencies
        Component.__init__(self, params, params.fabric | in_view(params))

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.pipe = pipe = SeenPipe(self.params)
        m.d.comb += [
            pipe.write.eq(self.write),
            pipe.settings.eq(self.settings),
            pipe.configure.eq(self.configure),
            pipe.stalled.eq(self.stalled),
            self.busy.eq(pipe.busy),
            self.events[0].eq(pipe.events),
            *(getattr(self, name).eq(getattr(pipe, name)) for name in in_view(self.params)),
        ]
        self.enter_reads(m, [pipe])
        self.enter_responses(m, [pipe])
        self.leave(m, [pipe])
        return m


@dataclass(frozen=True)
class Sent:
    """A PR that came in, by which port, and its number there."""

    request: Request
    ingress: int
    egress: int  # the port that its packet was let in for
    number: int
    packet: int  # the how-manieth


class Bench:
    """Sends packets into the ports of both classes, and looks at every cycle."""

    def __init__(self, dut, stalls=(never, never), uplink=UPLINK):
        self.dut, self.edge, self.uplink = dut, RisingEdge(dut.clk), uplink
        self.params = params = params_in_simulator(NetSparseSwitchParams)
        self.events_layout, self.rooms_layout = params.pipe_events, rooms(params)
        cache = params.cache
        self.model = PropertyCache(cache.segments, cache.sets, cache.ways)
        self.due = deque([None] * cache.latency, cache.latency)  # events of the cache
        self.seen, self.events = Counter(), Counter()
        self.free = {
            name: [params.output_beats] * params.output_room(bool(k)).ports
            for k, name in enumerate(CLASSES)
        }
        self.least = {name: list(free) for name, free in self.free.items()}
        self.inside: dict[tuple, Sent] = {}
        self.outcomes: dict[tuple, tuple] = {}  # of reads that entered: what the model said
        self.to_insert = defaultdict(deque)  # properties that are to be inserted, by ingress
        self.last = defaultdict(lambda: -1)
        self.entered_at, self.inserted_at, self.looked_up_at = [], [], []
        self.settings = {}
        self.stalls, self.next_id, self.last_packet = stalls, 0, 0
        self.passed_by = self.left = self.malformed = self.packets = 0
        self.wholeness = Wholeness(params.mtu)
        self.routes, self.homes = dict(ROUTES), {}  # what leads to nodes; to those who had a hit

    async def start(self, length=LENGTH, **settings):
        dut, params = self.dut, self.params
        dut.write.value = dut.configure.value = dut.stalled.value = 0
        dut.uplinks.value = 1 << self.uplink
        source, sink = self.stalls
        self.sources = {
            (name, port): Source(dut, f"{name}_{port}", stall=source, shape=params.routed)
            for name in CLASSES
            for port in range(params.ports)
        }
        self.receivers = {
            (name, port): Receiver(
                dut, f"{name}_o_{port}", lambda beats, port=port: self.take(port, beats), sink
            )
            for name in CLASSES
            for port in range(params.ports)
        }
        self.set(property_bytes=length, **settings)
        await start(dut)
        for node, port in ROUTES.items():
            await self.route(node, port)
        cocotb.start_soon(self.watch())
        await self.configure()
        return self

    def set(self, **settings):
        defaults = {"cache": 1, "concatenate": 1, "read_delay": 40, "response_delay": 40}
        addresses = {"node": NODE, "mac_base": ADDRESSES.mac_base, "ip_base": ADDRESSES.ip_base}
        self.settings = defaults | addresses | self.settings | settings
        self.dut.settings.value = pack(self.params.pipe_settings, self.settings)

    async def configure(self, **settings):
        """Empty the cache; return when it is."""
        self.set(**settings)
        self.dut.configure.value = 1
        await self.edge
        self.dut.configure.value = 0
        await self.edge
        while self.dut.busy.value:
            await self.edge

    async def route(self, node, port):
        """Let ``port`` lead to ``node`` from now on; None: nothing leads there."""
        self.routes[node] = port
        route = {"port": port or 0, "known": port is not None}
        write = {"valid": 1, "node": node, "route": route}
        self.dut.write.value = pack(self.params.write_route, write)
        await self.edge
        self.dut.write.value = 0

    async def wait(self, cycles):
        for _ in range(cycles):
            await self.edge

    async def watch(self):
        dut = self.dut
        while True:
            await self.edge
            if int(dut.rst.value):
                continue
            self.count_rooms(int(dut.rooms.value))
            self.compare(unpack(self.events_layout, int(dut.events_0.value)))
            outcome = None
            if dut.accessed.value:
                outcome = self.access(unpack(self.params.cache.access, int(dut.access.value)))
            if dut.entered.value:
                self.enter(unpack(self.params.read_entry, int(dut.entry.value)), outcome)
            self.due.append(outcome and outcome[0])
            if dut.configure.value:
                self.model.configure(self.settings["property_bytes"])

    def count_rooms(self, happens):
        """Check that nobody takes more than there is, nor gives back what was not taken."""
        if not happens:
            return
        for name, seen in unpack(self.rooms_layout, happens).items():
            free = self.free[name]
            packet = self.params.output_room(name == "responses").packet
            if seen["item"]["valid"]:
                free[seen["item"]["port"]] -= seen["item"]["beats"]
            for give in seen["gives"]:
                if give["beats"]:
                    free[give["port"]] += give["beats"]
            for port in range(len(free)):
                free[port] += seen["left"] >> port & 1
                free[port] -= packet * (seen["packets"] >> port & 1)
            assert min(free) >= 0, (name, free)
            assert max(free) <= self.params.output_beats, (name, free)
            self.least[name] = [min(pair) for pair in zip(self.least[name], free, strict=True)]

    def access(self, access):
        """Return what the golden model says of an access."""
        clearing = bool(self.dut.busy.value)
        if not access["insert"]:
            self.looked_up_at.append(cycle())
            result = self.model.lookup(access["idx"], access["length"], clearing=clearing)
        else:
            self.inserted_at.append(cycle())
            idx, data = self.to_insert[self.uplink].popleft()
            assert (access["idx"], access["length"]) == (idx, len(data))
            whole = b"".join(part.to_bytes(16, "little") for part in access["property"])
            if len(data) <= len(whole):  # a longer one bypasses the cache
                assert whole[: len(data)] == data
            result = self.model.insert(idx, data, clearing=clearing), None
        self.seen[result[0]] += 1
        return result

    def enter(self, entry, outcome):
        """Note that a read has passed the gate; ``outcome`` is there if it made an access."""
        read = entry["read"]
        pr = read["pr"]
        sent = self.inside[Kind.READ, pr["src"], pr["tid"], pr["id"]]
        self.entered_at.append(cycle())
        wanted = (
            self.settings["cache"]
            and sent.egress == self.uplink
            and pr["idx"] < 1 << self.params.cache.idx_bits
        )
        if wanted and not entry["lookup"]:
            self.passed_by += 1
            home = ROUTES[pr["src"]]
            assert int(self.dut.stalled.value) >> home & 1
            assert self.free["responses"][home] < self.params.output_room(True).items_from
        assert wanted or not entry["lookup"]
        found = outcome if entry["lookup"] else (None, None)
        if found[0] is Outcome.HIT:
            self.homes[Kind.READ, pr["src"], pr["tid"], pr["id"]] = entry["home"]
        self.outcomes[Kind.READ, pr["src"], pr["tid"], pr["id"]] = found

    def compare(self, events):
        """Check that the cache's events are those of the model, one latency of the cache ago."""
        outcome = self.due[0]
        shown = {name for name, value in events["cache"].items() if value}
        if outcome is Outcome.REPLACED:
            assert shown == {"inserted", "replaced"}
        else:
            assert shown == ({outcome.value} if outcome else set())
        self.events["passed_by"] += events["passed_by"]
        for name in CLASSES:
            for way in ("taken", "sent"):
                if events[name][way]["packet"]:
                    self.events[f"{name}_{way}"] += 1
                    self.events[f"{name}_{way}_prs"] += events[name][way]["prs"]
            drops = events[name]["taken"]["drops"]
            self.events["drops"] += drops.bit_count()

    def send(self, ingress, requests):
        """Let a packet come by port ``ingress``."""
        kind = requests[0].kind
        for request in requests:
            key = kind, request.src, request.tid, request.id
            number = len(self.inside) + self.left
            egress = self.routes[request.dest]
            self.inside[key] = Sent(request, ingress, egress, number, self.packets)
            fits = request.idx < 1 << self.params.cache.idx_bits
            keeps = ingress == self.uplink and self.settings["cache"] and fits
            if kind is Kind.RESPONSE and keeps:
                self.to_insert[ingress].append((request.idx, request.data))
        self.packets += 1
        self.send_beats(
            ingress, kind, requests[0].dest, to_beats(to_bytes(requests, 5, Addresses()))
        )

    def send_malformed(self, ingress, requests):
        """Let a packet come that is broken, or wrong in another way that its beats show."""
        kind, dest = requests[0].kind, requests[0].dest
        beats = to_beats(to_bytes(requests, 5, Addresses()))
        tdata, tkeep, tlast, _ = beats[-1]
        fault = random.choice((*FLIPS, "broken", "short", "long", "too long"))
        if fault == "broken":
            beats[-1] = tdata, tkeep, tlast, 1
        elif fault == "short":
            beats[-1] = tdata, tkeep >> 1, tlast, 0
        elif fault in FLIPS:
            beat, byte = divmod(FLIPS[fault], 64)
            beats[beat] = (beats[beat][0] ^ 7 << 8 * byte, *beats[beat][1:])
        else:
            whole = (tdata, (1 << 64) - 1, 0, 0)
            beats = [(*beats[0][:2], 0, 0), *[whole] * (self.params.packet_beats - 1)]
            beats[-1] = (
                *whole[:2],
                1,
                fault == "long",
            )  # as a port cuts it, or by less than a beat
        self.malformed += 1
        self.send_beats(ingress, kind, dest, beats)

    def send_beats(self, ingress, kind, dest, beats):
        source = self.sources[CLASSES[kind is not Kind.READ], ingress]
        for beat in beats:
            fields = dict(zip(FIELDS, beat, strict=True))
            source.append({"egress": self.routes[dest], "beat": fields})

    def requests(self, kind, dest, src, idxs, length=LENGTH):
        """Return PRs of a packet, each with a property of its own."""
        made = []
        for idx in idxs:
            self.next_id += 1
            payload = random.randbytes(length) if kind is Kind.RESPONSE else b""
            tid = random.getrandbits(16)
            made.append(
                Request(
                    kind=kind,
                    dest=dest,
                    length=length,
                    src=src,
                    tid=tid,
                    idx=idx,
                    id=self.next_id,
                    data=payload,
                )
            )
        return made

    def take(self, egress, beats):
        """Note that a packet has left by port ``egress``."""
        wire = from_beats(beats)
        requests = from_bytes(wire)
        assert wire == to_bytes(requests, NODE, ADDRESSES)
        assert len(wire) <= self.params.mtu
        self.last_packet = 0
        origins = []
        for request in requests:
            key = request.kind, request.src, request.tid, request.id
            sent = self.inside.pop(key, None)
            self.left += 1
            if sent is None:
                key = Kind.READ, request.dest, request.tid, request.id
                sent = self.inside.pop(key)
                origins.append((sent.packet, request.kind))
                assert egress == self.homes.pop(key)
                read = sent.request
                outcome, value = self.outcomes.pop(key)
                assert outcome is Outcome.HIT
                answer = replace(read, kind=Kind.RESPONSE, dest=read.src, src=read.dest, data=value)
                assert request == answer
                continue
            if request.kind is Kind.READ:
                assert self.outcomes.pop(key)[0] is not Outcome.HIT
            assert request == sent.request
            assert egress == sent.egress
            origins.append((sent.packet, request.kind))
            way = request.kind, sent.ingress, egress, request.dest
            assert sent.number > self.last[way], f"out of order: {request}"
            self.last[way] = sent.number
        if not self.settings["concatenate"]:
            self.wholeness.leave(requests, origins)

    async def drain(self, quiet=150):
        """Wait until nothing moves; all that came has left, and all room is there again."""
        self.last_packet = 0
        while self.last_packet < quiet:
            await self.edge
            busy = any(source.missing for source in self.sources.values())
            self.last_packet = 0 if busy else self.last_packet + 1
        assert not self.inside
        assert not any(self.to_insert.values())
        full = self.params.output_beats
        for name, free in self.free.items():
            assert free == [full] * len(free), name
        assert self.events["passed_by"] == self.passed_by
        assert self.events["drops"] == self.malformed
