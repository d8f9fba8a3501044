"""Checks a whole middle pipe with all that is before and after it in a switch.

The order in which reads and responses meet in the cache is the hardware's business. What follows
from that order is not: the accesses that the cache gets are put through its golden model, and what
leaves must be what the model says.
"""

import random
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import Out

from hdl.common.component import Component
from hdl.netsparse.middle_pipe.middle_pipe import MiddlePipe
from hdl.netsparse.property_cache.params import PropertyCacheParams
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from hdl.netsparse.switch.pipe_fabric import PipeFabric
from sim.harness.bench import Bench
from sim.harness.streams import cycle
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from sim.netsparse.golden.property_cache import Outcome, PropertyCache
from sim.netsparse.golden.switch import Wholeness
from sim.netsparse.links import Receiver, as_beats, new_packets
from sim.netsparse.wire import to_beats
from tests.hdl.netsparse.switch.bench import ADDRESSES, NODE, requests_of

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


def free_beats(params: NetSparseSwitchParams) -> data.StructLayout:
    """Return the layout of the beats that are free at each port of the two rooms."""
    ports = {name: params.output_room(bool(k)).ports for k, name in enumerate(CLASSES)}
    return data.StructLayout({name: data.ArrayLayout(signed(32), n) for name, n in ports.items()})


def in_view(params: NetSparseSwitchParams) -> dict[str, Any]:
    """Return what a :class:`SeenPipe` shows of its inside."""
    return {
        "accessed": Out(1),
        "access": Out(params.cache.access),
        "entered": Out(1),  # a read, past the gate
        "entry": Out(params.read_entry),
        "free": Out(free_beats(params)),  # behind this cycle
        "overdrawn": Out(1),  # somebody takes more than there is, or gives what was not taken
    }


class SeenPipe(MiddlePipe):
    """A middle pipe that shows the accesses of its cache and what is free in its rooms."""

    def __init__(self, params: NetSparseSwitchParams) -> None:
        pipe = MiddlePipe(params)
        self.latencies, self.queues = pipe.latencies, pipe.queues
        Component.__init__(self, params, {**pipe.signature.members, **in_view(params)})

    def build(self, m: Module) -> None:
        super().build(m)
        parts: Any = m.submodules
        m.d.comb += [
            self.accessed.eq(parts.cache.access_valid),
            self.access.eq(parts.cache.access),
            self.entered.eq(parts.gate.enters),
            self.entry.eq(parts.gate.entry),
        ]
        full, wrong = self.params.output_beats, []
        for payload, name in enumerate(CLASSES):
            room, sizes = parts[f"{name}_room"], self.params.output_room(bool(payload))
            for port, free in enumerate(self.free[name]):
                before = Signal(signed(32), init=full)
                provided = sum(Mux(give.port == port, give.beats, 0) for give in room.gives)
                item = Mux(room.item.valid & (room.item.port == port), room.item.beats, 0)
                claimed = item + Mux(room.packets[port], sizes.packet, 0)
                after = before + provided + room.left[port] - claimed
                m.d.comb += free.eq(after[:32])
                m.d.sync += before.eq(free)
                wrong.append((free < 0) | (free > full))
        m.d.comb += self.overdrawn.eq(Cat(wrong).any())


class WatchedPipe(PipeFabric):
    """The one middle pipe of a switch, with its inside in view."""

    watched_as = PipeFabric

    def __init__(self, params: NetSparseSwitchParams) -> None:
        self.latencies = PipeFabric(params).latencies
        Component.__init__(self, params, params.fabric | in_view(params))

    def build(self, m: Module) -> None:
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


@dataclass(frozen=True)
class Sent:
    """A PR that came in, by which port, and its number there."""

    request: Request
    ingress: int
    egress: int  # the port that its packet was let in for
    number: int
    packet: int  # the how-manieth


class PipeBench(Bench):
    """Sends packets into the ports of both classes, and looks at every cycle."""

    def __init__(self, dut, *stalls, uplink=UPLINK):
        super().__init__(dut, *stalls, uplinks=1 << uplink)
        params, self.uplink = self.params, uplink
        cache = params.cache
        self.model = PropertyCache(cache.segments, cache.sets, cache.ways)
        self.due: dict[int, Outcome] = {}  # what the cache will tell, by cycle
        self.seen, self.events = Counter(), Counter()
        self.inside: dict[tuple, Sent] = {}
        self.outcomes: dict[tuple, tuple] = {}  # of reads that entered: what the model said
        self.to_insert = defaultdict(deque)  # properties that are to be inserted, by ingress
        self.last = defaultdict(lambda: -1)
        self.entered_at, self.inserted_at, self.looked_up_at = [], [], []
        self.settings = {}
        self.new_id = count(1).__next__
        self.passed_by = self.left = self.malformed = self.packets = 0
        self.wholeness = Wholeness(params.mtu)
        self.routes, self.homes = dict(ROUTES), {}  # what leads to nodes; to those who had a hit

        self.receivers = {
            (name, port): Receiver(dut, f"{name}_o_{port}", stall=self.sink_stall)
            for name in CLASSES
            for port in range(params.ports)
        }
        self.recorders = (
            self.record("accessed", "access", "busy"),
            self.record("entered", "entry", "stalled", "free"),
            self.record("events_0", "events_0"),
        )
        self.overdrawn = self.record("overdrawn", "free")

    async def begin(self, length=LENGTH, **settings):
        self.choose(property_bytes=length, **settings)
        await super().begin()
        for node, port in ROUTES.items():
            await self.route(node, port)
        await self.configure()
        return self

    def choose(self, **settings):
        self.check()
        defaults = {"cache": 1, "concatenate": 1, "read_delay": 40, "response_delay": 40}
        addresses = {"node": NODE, "mac_base": ADDRESSES.mac_base, "ip_base": ADDRESSES.ip_base}
        self.settings = defaults | addresses | self.settings | settings
        self.set(settings=self.settings)

    async def configure(self, **settings):
        """Empty the cache; return when it is."""
        self.choose(**settings)
        await self.strobe(configure=1)
        self.check()
        self.model.configure(self.settings["property_bytes"])
        await self.wait()
        await self.until("busy", 0)

    async def route(self, node, port):
        """Let ``port`` lead to ``node`` from now on; None: nothing leads there."""
        self.routes[node] = port
        route = {"port": port or 0, "known": port is not None}
        await self.strobe(write={"valid": 1, "node": node, "route": route})

    async def wait(self, cycles=1):
        await super().wait(cycles)
        self.check()

    def check(self):
        """Put all that has happened since the last time through the golden model."""
        assert not self.overdrawn.beats
        accessed, entered, reported = (recorder.take() for recorder in self.recorders)
        for now in sorted({*accessed, *entered}):
            outcome = None
            if now in accessed:
                outcome = self.access(now, **accessed[now])
                self.due[now + self.params.cache.latency] = outcome[0]
            if now in entered:
                self.enter(now, outcome, **entered[now])
        for now, events in reported.items():
            self.compare(self.due.pop(now, None), events["events_0"])
        assert min(self.due, default=cycle() + 1) > cycle(), "the cache has not told of an access"
        for (_, port), packet in new_packets(self.receivers):
            self.take(port, packet.wire)

    def access(self, now, access, busy):
        """Return what the golden model says of an access."""
        clearing = bool(busy)
        if not access["insert"]:
            self.looked_up_at.append(now)
            result = self.model.lookup(access["idx"], access["length"], clearing=clearing)
        else:
            self.inserted_at.append(now)
            idx, data = self.to_insert[self.uplink].popleft()
            assert (access["idx"], access["length"]) == (idx, len(data))
            whole = b"".join(part.to_bytes(16, "little") for part in access["property"])
            if len(data) <= len(whole):  # a longer one bypasses the cache
                assert whole[: len(data)] == data
            result = self.model.insert(idx, data, clearing=clearing), None
        self.seen[result[0]] += 1
        return result

    def enter(self, now, outcome, entry, stalled, free):
        """Note that a read has passed the gate; ``outcome`` is there if it made an access."""
        pr = entry["read"]["pr"]
        sent = self.inside[Kind.READ, pr["src"], pr["tid"], pr["id"]]
        self.entered_at.append(now)
        expected = (
            self.settings["cache"]
            and sent.egress == self.uplink
            and pr["idx"] < 1 << self.params.cache.idx_bits
        )
        if expected and not entry["lookup"]:
            self.passed_by += 1
            home = ROUTES[pr["src"]]
            assert stalled >> home & 1
            left = free["responses"][home]
            assert left < self.params.output_room(True).items_from
        assert expected or not entry["lookup"]
        result = outcome if entry["lookup"] else (None, None)
        if result[0] is Outcome.HIT:
            self.homes[Kind.READ, pr["src"], pr["tid"], pr["id"]] = entry["home"]
        self.outcomes[Kind.READ, pr["src"], pr["tid"], pr["id"]] = result

    def compare(self, outcome, events):
        """Check that the cache tells the outcome of an access one latency of the cache ago."""
        shown = {name for name, value in events["cache"].items() if value}
        if outcome is Outcome.REPLACED:
            assert shown == {"inserted", "replaced"}
        else:
            assert shown == ({outcome.value} if outcome else set())
        self.events["passed_by"] += events["passed_by"]
        for name in CLASSES:
            for path in ("taken", "sent"):
                if events[name][path]["packet"]:
                    self.events[f"{name}_{path}"] += 1
                    self.events[f"{name}_{path}_prs"] += events[name][path]["prs"]
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
        sources = getattr(self, CLASSES[kind is not Kind.READ])
        sources[ingress].extend(
            [{"egress": self.routes[dest], "beat": beat} for beat in as_beats(beats)]
        )

    def requests(self, kind, dest, src, idxs, length=LENGTH):
        """Return PRs of a packet, each with a property of its own."""
        path = (kind, dest, src, length)
        return requests_of(self, *path, idxs, lambda _, size: random.randbytes(size))

    def take(self, egress, wire):
        """Note that a packet has left by port ``egress``."""
        requests = from_bytes(wire)
        assert wire == to_bytes(requests, NODE, ADDRESSES)
        assert len(wire) <= self.params.mtu
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
            path = request.kind, sent.ingress, egress, request.dest
            assert sent.number > self.last[path], f"out of order: {request}"
            self.last[path] = sent.number
        if not self.settings["concatenate"]:
            self.wholeness.leave(requests, origins)

    async def drain(self, quiet=150):
        """Wait until nothing moves; all that came has left, and all room is there again."""
        await self.settle(quiet)
        self.check()
        assert not self.inside
        assert not any(self.to_insert.values())
        full = self.params.output_beats
        for name, free in self.value("free").items():
            assert free == [full] * len(free), name
        assert self.events["passed_by"] == self.passed_by
        assert self.events["drops"] == self.malformed
