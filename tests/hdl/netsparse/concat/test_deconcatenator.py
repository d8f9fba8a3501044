import random
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise

import cocotb

from hdl.netsparse.concat.deconcatenator import Deconcatenator
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams, Drop
from hdl.netsparse.protocol import Kind
from sim.harness.axi_streams import AxiSource
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, benched, never
from sim.netsparse.wire import Packet, max_prs, to_beats
from tests.hdl.netsparse.concat.concatenator_bench import number, verdict
from tests.rejects import rejects
from tests.simulated import simulated

FULL = (1 << 64) - 1
READS = DeconcatenatorParams(
    payload=False, nodes=128, mtu=4180, most_property_bytes=4096, buffer_packets=2
)
RESPONSES = DeconcatenatorParams(payload=True, nodes=128, buffer_packets=2)
ODD = DeconcatenatorParams(  # an MTU of whole beats; as few nodes, and as short properties
    payload=True,
    nodes=2,
    mtu=640,
    most_property_bytes=8,
    buffer_packets=2,
    any_dest=True,
    tag_bits=10,
)

test_deconcatenator = simulated(Deconcatenator, [READS, RESPONSES, ODD], __name__)


test_rejects = rejects(
    partial(DeconcatenatorParams, payload=True, nodes=4),
    (
        {"mtu": 600, "most_property_bytes": 520},
        "most_property_bytes must be a whole number from 4 to 516: 520",
    ),
)


def out_beats(packet):
    """Return how many beats its PRs come out in."""
    response = packet.kind is Kind.RESPONSE
    return len(packet.prs) * (-(-packet.length // 64) if response else 1)


class DeconcatenatorBench(Bench):
    """Sends packets, and compares what comes out with the verdict's."""

    def __init__(self, dut, stalls=(never, never), node=None):
        super().__init__(dut, stalls)
        self.beside = ["tag"] * bool(self.params.tag_bits)
        self.axis = AxiSource(dut, "axis", stall=self.source_stall, beside=self.beside)
        self.expected, self.tags, self.events = [], [], []
        self.events_seen = self.record("events", "events")
        self.packets = []
        self.node = random.getrandbits(32) if node is None else node
        if not self.params.any_dest:
            self.set(node=self.node)
        if self.beside:
            self.tags_seen = self.record("prs_valid", "prs_tag", taken="prs_ready")

    @property
    def seen(self):
        """Return the events of packets."""
        events = [record["events"] for record in list.__iter__(self.events_seen.beats)]
        return [event for event in events if event["packet"] or event["drops"]]

    async def send(self, beats):
        """Send a packet, whatever it is."""
        tag = {name: random.getrandbits(self.params.tag_bits) for name in self.beside}
        names = ("tdata", "tkeep", "tlast", "tuser")
        await self.axis.send_all([dict(zip(names, beat, strict=True)) | tag for beat in beats])
        self.packets.append(beats)
        reason, octets = verdict(beats, self.params, self.node)
        if reason is not None:
            self.events.append({"packet": 0, "drops": 1 << reason.value} | tag)
            return reason
        self.expect(octets, tag)
        return None

    def expect(self, octets, tag):
        kind, length = number(octets, 50, 2), number(octets, 56, 4)
        payload = length if kind == 2 else 0
        at, prs, before = 64, 0, len(self.expected)
        while at < len(octets):
            shared = {
                "dest": number(octets, 52, 4),
                "length": length,
                "pr": {
                    "src": number(octets, at, 4),
                    "tid": number(octets, at + 4, 2),
                    "idx": number(octets, at + 6, 8),
                    "id": number(octets, at + 14, 4),
                },
            }
            data = octets[at + 18 : at + 18 + payload]
            at, prs = at + 18 + payload, prs + 1
            if not self.params.payload:
                self.expected.append((shared, b""))
                continue
            for start_ in range(0, max(payload, 1), 64):
                last = start_ + 64 >= payload
                fields = {"error": int(kind == 3), "last": int(last)}
                self.expected.append((shared | fields, data[start_ : start_ + 64]))
        event = {"packet": 1, "bytes": len(octets), "prs": prs, "drops": 0}
        if tag:
            for k in range(before, len(self.expected)):
                edges = {"starts": int(k == before), "ends": int(k == len(self.expected) - 1)}
                self.expected[k] = (self.expected[k][0] | edges, self.expected[k][1])
            self.tags += [tag["tag"]] * (len(self.expected) - before)
            event |= tag | {"length": length, "error": int(kind == 3)}
        self.events.append(event)

    async def drain(self):
        """Wait until everything has come out as expected, and nothing else."""
        await self.settle(60)
        assert self.dut.axis_tready.value
        seen = self.seen
        for first, second, beats in zip(seen, self.events, self.packets, strict=True):
            assert {name: first[name] for name in second} == second, beats
        if self.beside:
            assert [record["prs_tag"] for record in self.tags_seen.beats] == self.tags
        for beat, (fields, octets) in zip(self.prs.beats, self.expected, strict=True):
            assert {name: beat[name] for name in beat if name != "data"} == fields
            assert beat.get("data", 0).to_bytes(64, "little").startswith(octets)
        drops = [event["drops"] for event in seen]
        return Counter(Drop(item.bit_length() - 1) if item else None for item in drops)

    def packet(self, length=None, count=None, kind=None):
        """Return a good packet."""
        params = self.params
        kinds = [Kind.RESPONSE] * 7 + [Kind.ERROR] if params.payload else [Kind.READ]
        kind = kind or random.choice(kinds)
        length = length or 4 * random.randint(1, params.most_property_bytes // 4)
        most = max_prs(kind, length, params.mtu)
        count = count or random.choice([1, most, random.randint(1, most)])
        dest = random.randrange(params.nodes) if params.any_dest else self.node

        def source():
            return random.choice([0, params.nodes - 1, random.randrange(params.nodes)])

        return Packet.drawn(
            random.getrandbits, count, kind=kind, dest=dest, length=length, src=source
        )


@benched(DeconcatenatorBench, stalls=STALLS)
async def unpacks_every_size(bench):
    lengths = list(range(bench.params.most_property_bytes, 0, -4 if bench.params.payload else -128))
    packets = [bench.packet(length=length) for length in lengths * (200 // len(lengths) or 1)]
    random.shuffle(packets)
    for packet in packets:
        await bench.send(to_beats(packet.to_bytes()))
    assert await bench.drain() == {None: len(packets)}


@benched(DeconcatenatorBench)
async def keeps_the_rate(bench):
    """Packets come back to back: a beat moves in or out per cycle, whichever are more."""
    kind = Kind.RESPONSE if bench.params.payload else Kind.READ
    lengths = range(4, bench.params.most_property_bytes + 1, 4 if bench.params.payload else 4092)
    for length in lengths:
        for count in (1, max_prs(kind, length, bench.params.mtu)):
            packets = [bench.packet(length, count, kind) for _ in range(5)]
            done, sent = len(bench.expected), len(bench.axis.cycles)
            for packet in packets:
                await bench.send(to_beats(packet.to_bytes()))
            await bench.prs.wait_for(len(bench.expected))
            out = out_beats(packets[0])
            beats = len(to_beats(packets[0].to_bytes()))
            last = bench.prs.cycles[done + out - 1 :: out]
            assert [b - a for a, b in pairwise(last)] == [max(beats, out)] * 4, (
                length,
                count,
                beats,
                out,
            )
            latency = Deconcatenator.latency
            assert bench.prs.cycles[done] == bench.axis.cycles[sent + beats - 1] + latency
            if beats >= out:  # the input never waited
                assert bench.axis.cycles[-1] - bench.axis.cycles[sent] == 5 * beats - 1
    await bench.drain()


@benched(partial(DeconcatenatorBench, node=0))
async def zeros_and_ones(bench):
    """PRs' fields have the least and the largest value, for node 0."""
    kind = Kind.RESPONSE if bench.params.payload else Kind.READ
    packet = bench.packet(bench.params.most_property_bytes, 2, kind)
    least = {"src": 0, "tid": 0, "idx": 0, "id": 0}
    most = {"src": bench.params.nodes - 1, "tid": (1 << 16) - 1}
    most |= {"idx": (1 << 64) - 1, "id": (1 << 32) - 1}
    prs = [replace(pr, **fields) for pr, fields in zip(packet.prs, (least, most), strict=True)]
    packet = replace(packet, prs=prs)
    await bench.send(to_beats(packet.to_bytes()))
    assert await bench.drain() == {None: 1}


def set_number(octets, at, size, value):
    octets[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "big")


def resize(octets, size):
    """Cut a packet or fill it up, with lengths of the upper layers that agree."""
    octets[:] = (octets + random.randbytes(max(0, size - len(octets))))[:size]
    if size >= 64:
        set_number(octets, 16, 2, size - 14)
        set_number(octets, 38, 2, size - 34)


def wrong_source(octets, params):
    each = 18 + (number(octets, 56, 4) if number(octets, 50, 2) == 2 else 0)
    at = random.randrange(64, len(octets), each)
    wrong = [params.nodes, 1 << 16, 1 << 31, (1 << 32) - 1, random.getrandbits(32)]
    set_number(octets, at, 4, random.choice(wrong))


def mutate(octets, params):
    """Change bytes of a packet that was good."""

    def flip(low, high):
        octets[random.randrange(low, min(high, len(octets)))] ^= 1 << random.randrange(8)

    def more_prs(difference):
        set_number(octets, 60, 4, number(octets, 60, 4) + difference)

    node = number(octets, 52, 4)
    near = random.choice([1, -1, 2, 4, -4, 18, 22, 64, -64])
    random.choice(
        [
            lambda: flip(12, 64),
            lambda: flip(36, 64),
            lambda: flip(50, 64),
            lambda: flip(0, 2000),
            lambda: more_prs(random.choice([1, -1, 128, 512, 1 << 16])),
            lambda: set_number(octets, 60, 4, 0),
            lambda: set_number(octets, 56, 4, number(octets, 56, 4) + near),
            lambda: set_number(
                octets, 56, 4, random.choice([0, 516, 4096, 4100, 1 << 13, 1 << 31])
            ),
            lambda: set_number(octets, 50, 2, random.choice([0, 1, 2, 3, 4, 256, 258])),
            lambda: set_number(octets, 52, 4, random.choice([0, node ^ 1 << 31, node + 1])),
            lambda: set_number(octets, 16, 2, number(octets, 16, 2) + near),
            lambda: set_number(octets, 38, 2, number(octets, 38, 2) + near),
            lambda: resize(octets, max(1, len(octets) + near)),
            lambda: resize(octets, random.randint(1, 130)),
            lambda: resize(octets, random.choice([0, 1, 63, 64, 65]) + params.mtu),
            lambda: wrong_source(octets, params),
            lambda: wrong_source(octets, params),
        ]
    )()


def oversize(bench):
    """Return a packet that would be good, but for the MTU."""
    kind = Kind.RESPONSE if bench.params.payload else Kind.READ
    length = 4 * random.randint(1, bench.params.most_property_bytes // 4)
    most = max_prs(kind, length, bench.params.mtu)
    return bench.packet(length, most + random.choice([1, 1, 2, 30]), kind)


def strange_beats(beats):
    """Change what goes with the bytes."""
    k = random.randrange(len(beats))
    data, keep, last, user = beats[k]
    what = random.randrange(4)
    if what == 0:
        beats[-1] = (*beats[-1][:3], 1)
    elif what == 1:
        beats[k] = (data, keep & ~(1 << random.randrange(64)), last, user)
    elif what == 2:
        beats[k] = (data, random.choice([0, FULL >> 1, FULL - 1, FULL, keep >> 1]), last, user)
    else:
        beats[k] = (data, keep, last, user or not last)  # of no meaning here


def any_packet(bench):
    """Draw a packet that is good, a little wrong, or nothing at all."""
    what = random.random()
    if what < 0.02:
        return to_beats(random.randbytes(random.randint(1, 400)))
    if what < 0.04:
        return to_beats(oversize(bench).to_bytes())
    count = random.choice([1, 1, 2, 3, 4, None if random.random() < 0.1 else 5])
    kind = Kind.RESPONSE if bench.params.payload else Kind.READ
    length = random.choice([4, 8, 12, 64, 68, 4 * random.randint(1, 128)])
    length = min(length, bench.params.most_property_bytes)
    if count and count <= max_prs(kind, length, bench.params.mtu):
        packet = bench.packet(length, count, kind)
    else:
        packet = bench.packet(length, 1)
    octets = bytearray(packet.to_bytes())
    if what < 0.6:
        mutate(octets, bench.params)
    if what < 0.1:
        mutate(octets, bench.params) if len(octets) > 64 else None
    beats = to_beats(bytes(octets))
    if 0.55 < what < 0.7:
        strange_beats(beats)
    return beats


@benched(DeconcatenatorBench, stalls=STALLS, ms=5)
async def drops_what_is_malformed(bench):
    for _ in range(2500 if bench.params == RESPONSES else 1500):
        await bench.send(any_packet(bench))
    counts = await bench.drain()
    assert all(counts[reason] > 10 for reason in [None, *Drop])


@benched(DeconcatenatorBench)
async def the_mtu_to_the_byte(bench):
    """What is longer is oversize, though it is wrong in other ways as well; nothing else is."""
    mtu = bench.params.mtu
    whole = mtu // 64 * 64
    sizes = [*range(mtu - 2, mtu + 4), *(whole + k for k in (-1, 0, 1, 63, 64, 65, 128))]
    for size in sizes:
        octets = bytearray(bench.packet(4, 1).to_bytes())
        resize(octets, size)
        await bench.send(to_beats(bytes(octets)))
    counts = await bench.drain()
    over = sum(size > mtu for size in sizes)
    assert counts == {Drop.OVERSIZE: over, Drop.LENGTH: len(sizes) - over}


@benched(DeconcatenatorBench)
async def bad_packets_take_no_time(bench):
    """The input never waits for them, and a good one after them is as early as without."""
    for _ in range(10):
        await bench.send([(random.getrandbits(512), FULL, k == 299, 0) for k in range(300)])
        for _ in range(20):
            await bench.send(to_beats(oversize(bench).to_bytes()))
            await bench.send(to_beats(bench.packet(4, 1).to_bytes(), broken=True))
        await bench.send(to_beats(bench.packet(4, 1).to_bytes()))
        await bench.settle(60)
        assert bench.prs.cycles[-1] == bench.axis.cycles[-1] + Deconcatenator.latency
    beats = len(bench.axis.cycles) // 10
    waits = [b - a for a, b in pairwise(bench.axis.cycles) if b - a > 1]
    assert beats > 500
    assert len(waits) == 9  # between the rounds
    assert (await bench.drain())[None] == 10


@benched(DeconcatenatorBench)
async def waits_for_the_sink(bench):
    """At least two packets of MTU size wait inside, then axis does; none is lost."""
    bench.prs.stop()
    kind = Kind.RESPONSE if bench.params.payload else Kind.READ
    packets = [bench.packet(4, max_prs(kind, 4, bench.params.mtu), kind) for _ in range(8)]

    async def send_all():
        for packet in packets:
            await bench.send(to_beats(packet.to_bytes()))

    sending = cocotb.start_soon(send_all())
    await bench.wait(300)
    assert not bench.dut.axis_tready.value
    assert len(bench.axis.cycles) >= 2 * bench.params.beats
    bench.prs = Sink(bench.dut, "prs")
    await sending
    assert await bench.drain() == {None: 8}
