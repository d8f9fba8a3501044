import random

from hdl.netsparse.protocol import Kind
from hdl.netsparse.snic_counters import CLASSES
from sim.harness.payloads import pack, unpack
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, crossed, edges, never, often, start
from sim.harness.verilator import simulate
from sim.netsparse.links import Receiver, Sender, drained
from sim.netsparse.surroundings.link import LINK_COUNTS, LINK_SETTINGS, LinkParams, SharedLink
from sim.netsparse.surroundings.network_input import INPUT_BEATS
from sim.netsparse.wire import Packet, to_beats

PARAMS = LinkParams(latency=990)
OTHER = dict(zip(CLASSES, reversed(CLASSES), strict=True))


def test_link():
    simulate(SharedLink(PARAMS), __name__)


class Bench:
    """Has both classes of a link, and what has been sent of each."""

    def __init__(self, dut, source=never, sink=never):
        self.dut = dut
        self.inputs = {kind: Sender(dut, f"{kind}_i", stall=source) for kind in CLASSES}
        self.outputs = {kind: Receiver(dut, f"{kind}_o", stall=sink) for kind in CLASSES}
        self.offers = {
            f"{kind}_{end}": Recorder(dut, f"{kind}_{end}_tvalid", {f"{kind}_{end}_tready": None})
            for kind in CLASSES
            for end in "io"
        }
        self.sent = {kind: [] for kind in CLASSES}
        dut.index.value = random.randrange(256)
        self.set()

    def set(self, **settings):
        settings = {"seed": random.getrandbits(32)} | settings
        self.dut.settings.value = pack(LINK_SETTINGS, settings)

    def send(self, kind, prs):
        """Send a packet whose PRs tell it from all others."""
        which = Kind.READ if kind == "reads" else Kind.RESPONSE
        dest = random.getrandbits(32)
        packet = Packet.drawn(random.getrandbits, prs, kind=which, dest=dest, length=4).to_bytes()
        self.sent[kind].append(packet)
        self.inputs[kind].queue(to_beats(packet))

    def waited(self, end):
        """Count the cycles in which a beat did not move."""
        return sum(0 in offer.values() for offer in self.offers[end].beats)

    async def drain(self, cycles=300):
        """Wait until nothing moves; return the counts, which are what the far end has seen."""
        await drained(self.dut, self.inputs.values(), self.outputs.values(), cycles)
        counts = unpack(LINK_COUNTS, int(self.dut.counts.value))
        for kind in CLASSES:
            packets = self.outputs[kind].packets
            assert counts[kind]["packets"] == len(packets)
            assert counts[kind]["bytes"] == sum(packet.octets for packet in packets)
            assert counts[kind]["beats"] == len(self.outputs[kind].cycles)
            assert counts[kind]["refused"] == self.waited(f"{kind}_o")
            assert counts[kind]["blocked"] == self.waited(f"{kind}_i")
        return counts

    def check(self, **other):
        """Check that all that was sent came in order; ``other`` is what came instead."""
        for kind, wires in (self.sent | other).items():
            assert [packet.wire for packet in self.outputs[kind].packets] == wires


async def started(dut, *stalls):
    bench = Bench(dut, *stalls)
    await start(dut)
    return bench


@crossed(stalls=STALLS, settings=[{}, {"latency": 60, "in_stall": 40, "out_stall": 200}])
async def delivers_everything(dut, stalls, settings):
    bench = await started(dut, *stalls)
    bench.set(**settings)
    for _ in range(120):
        bench.send(random.choice(CLASSES), random.choice([1, 2, 3, 20, 65]))
    counts = await bench.drain()
    bench.check()
    assert not any(counts[kind][event] for kind in CLASSES for event in ("dropped", "corrupted"))


@crossed(kind=CLASSES, latency=[0, 1, 990])
async def a_class_alone_has_the_whole_link(dut, kind, latency):
    """It moves a beat per cycle for long, each beat as late as was asked."""
    bench = await started(dut)
    bench.set(latency=latency)
    for _ in range(120):
        bench.send(kind, 60)
    await bench.drain(latency + 300)
    bench.check()
    entered, left = bench.inputs[kind].cycles, bench.outputs[kind].cycles
    assert len(entered) > PARAMS.line.depth
    assert entered == list(range(entered[0], entered[0] + len(entered)))
    assert left == [at + SharedLink.least_latency + latency for at in entered]


@crossed(latency=[0, 990])
async def two_classes_share_one_bandwidth(dut, latency):
    """Both together move a beat per cycle, one whole packet of each in turn."""
    bench = await started(dut)
    bench.set(latency=latency)
    for _ in range(60):
        bench.send("reads", 20)
        bench.send("responses", 3)
    await bench.drain(latency + 300)
    bench.check()
    beats = sorted((at, kind) for kind, port in bench.outputs.items() for at in port.cycles)
    assert [at for at, _ in beats] == list(range(beats[0][0], beats[0][0] + len(beats)))
    order = [kind for _, kind in beats]
    # 20 reads of 18 bytes behind a header are 7 beats, 3 responses of 22 bytes are 3.
    assert sorted(order[k : k + 10].count("reads") for k in range(0, len(order), 10)) == [7] * 60
    turns = [kind for k, kind in enumerate(order) if not k or order[k - 1] != kind]
    assert len(turns) == 120


@crossed(kind=CLASSES)
async def a_class_that_is_stopped_holds_up_nobody(dut, kind):
    """Its packets fill the far end's buffer and wait; the other class has all the link."""
    bench = await started(dut)
    other = OTHER[kind]
    bench.set(stop={kind: 1})
    for _ in range(130):
        bench.send(kind, 60)
    await edges(dut.clk, 2200)
    assert bench.inputs[kind].missing
    free = PARAMS.line.depth - len(bench.inputs[kind].cycles)
    assert free < PARAMS.packet_beats, "there would be room for a packet"
    assert not bench.outputs[kind].cycles
    for _ in range(40):
        bench.send(other, 60)
    await edges(dut.clk, 1000)
    assert len(bench.outputs[other].packets) == 40
    left = bench.outputs[other].cycles
    assert left == list(range(left[0], left[0] + len(left)))
    bench.set()
    await bench.drain()
    bench.check()


@crossed(latency=[0, 1, 300])
async def free_places_are_known_a_latency_later(dut, latency):
    """A full buffer that is drained lets a packet begin when credits for it have come back."""
    bench = await started(dut)
    kind = random.choice(CLASSES)
    bench.set(latency=latency, stop={kind: 1})
    for _ in range(130):
        bench.send(kind, 60)
    await edges(dut.clk, 2200)
    taken = len(bench.inputs[kind].cycles)
    bench.set(latency=latency)
    await bench.drain(latency + 300)
    bench.check()
    over = taken - INPUT_BEATS - (PARAMS.line.depth - PARAMS.packet_beats)
    left = bench.outputs[kind].cycles[over - 1] - 1  # from then on there is room for a packet
    assert over > 0
    # A beat goes on the wire, then the next one is taken behind it.
    assert bench.inputs[kind].cycles[taken] == left + latency + 2


@crossed(kind=CLASSES, fault=["drop", "corrupt", "stray"])
async def harms_the_packet_that_was_named(dut, kind, fault):
    bench = await started(dut, often)
    at = random.randrange(20)
    bench.set(latency=5, **{kind: {fault: 1, f"{fault}_at": at}})
    for _ in range(30):
        for each in CLASSES:
            bench.send(each, random.choice([1, 20]))
    counts = await bench.drain()
    event = "dropped" if fault == "drop" else "corrupted"
    assert {each: counts[each][event] for each in CLASSES} == {
        each: int(each == kind) for each in CLASSES
    }
    packets = bench.sent[kind]
    harmed = bytearray(packets[at])
    harmed[68 if fault == "stray" else 63] ^= 0x80 if fault == "stray" else 1
    instead = [] if fault == "drop" else [bytes(harmed)]
    bench.check(**{kind: packets[:at] + instead + packets[at + 1 :]})
