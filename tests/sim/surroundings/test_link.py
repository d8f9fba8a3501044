import random
from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.network.frame import FRAME_KEEP
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, cycle, never, often, rarely, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.link import ALWAYS, COUNTERS, Link, LinkParams

SMALL = LinkParams(depth=8, holds=2, beats=5, data_bits=128)
SETTINGS = LinkParams().settings


def test_link():
    simulate(Link(LinkParams()), __name__)


def test_small_link():
    tests = "in_order|mixed_traffic|holds_no_more|fills_up|any_length|too_long"
    simulate(Link(SMALL), __name__, test_filter=tests)


class Watch:
    """Notes every packet that moves at a port, and checks that a waiting beat stays as it is."""

    def __init__(self, dut, name):
        self.dut = dut
        names = ("tdata", "tkeep", "tlast", "tuser")
        self.fields = [getattr(dut, f"{name}_{field}") for field in names]
        self.valid, self.ready = getattr(dut, f"{name}_tvalid"), getattr(dut, f"{name}_tready")
        self.packets = []  # tuples of beats
        self.cycles = []  # in which each packet's last beat moved
        cocotb.start_soon(self.run())

    async def run(self):
        edge, waiting, packet = RisingEdge(self.dut.clk), None, []
        while True:
            await edge
            if self.dut.rst.value:
                waiting, packet = None, []
                continue
            valid = bool(self.valid.value)
            assert valid or waiting is None, "a waiting beat went away"
            if not valid:
                continue
            beat = tuple(int(field.value) for field in self.fields)
            assert waiting in (None, beat), "a waiting beat changed"
            waiting = beat
            if self.ready.value:
                waiting = None
                packet.append(beat)
                if beat[2]:
                    self.packets.append(tuple(packet))
                    self.cycles.append(cycle())
                    packet = []


class Bench:
    """Has the link, its settings, and what went in and came out."""

    def __init__(self, dut, sink_stall=never):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(LinkParams)
        self.sent = 0
        self.longest = 0  # that nothing comes out while something is inside
        dut.i_tvalid.value = 0
        dut.index.value = 3
        self.set()
        self.i, self.o = Watch(dut, "i"), Watch(dut, "o")
        cocotb.start_soon(self.take(sink_stall))

    async def take(self, stall):
        self.dut.o_tready.value = 1
        while stall is not never:
            self.dut.o_tready.value = not stall()
            await self.edge

    def set(self, **settings):
        defaults = {"seed": random.getrandbits(32), "latency": 0, "displacement": 0}
        self.settings = defaults | settings
        quiet = self.settings["latency"] + self.settings["displacement"] + 100
        self.longest = max(self.longest, quiet)
        self.dut.settings.value = pack(SETTINGS, self.settings)

    def packet(self, beats=1, user=0):
        """Return a new packet; its number is three times in the first beat, the rest is random."""
        number, self.sent = self.sent, self.sent + 1
        bits = self.params.data_bits
        keep = (1 << bits // 8) - 1
        first = random.getrandbits(bits) >> 48 << 48 | number * (1 | 1 << 16 | 1 << 32)
        if beats == 1:
            return [(first, FRAME_KEEP & keep, 1, user)]
        rest = [random.getrandbits(bits) for _ in range(beats - 1)]
        last = (1 << random.randint(1, bits // 8)) - 1
        return [
            (data, last if k == beats - 1 else keep, k == beats - 1, user)
            for k, data in enumerate([first, *rest])
        ]

    async def send(self, packets, stall=never):
        dut = self.dut
        for beat in (beat for packet in packets for beat in packet):
            while stall():
                dut.i_tvalid.value = 0
                dut.i_tdata.value = random.getrandbits(self.params.data_bits)
                await self.edge
            dut.i_tvalid.value = 1
            dut.i_tdata.value, dut.i_tkeep.value, dut.i_tlast.value, dut.i_tuser.value = beat
            await self.edge
            while not dut.i_tready.value:
                await self.edge
        dut.i_tvalid.value = 0

    async def wait(self, cycles):
        for _ in range(cycles):
            await self.edge

    async def drain(self):
        """Wait until nothing more can come out; then the counters tell what the ports saw."""
        quiet = 0
        while quiet < self.longest:
            await self.edge
            quiet = 0 if self.dut.o_tvalid.value else quiet + 1
        counts = self.counts()
        assert counts["sent"] == len(self.i.packets) == self.sent
        assert counts["delivered"] == len(self.o.packets)
        assert counts["sent"] + counts["duplicated"] - counts["dropped"] == counts["delivered"]
        return counts

    def counts(self):
        return {name: int(getattr(self.dut, name).value) for name in COUNTERS}

    def deliveries(self):
        """Return the number of each packet that came out, which is one that went in, and its
        errors.

        At most one bit is flipped; a longer packet than the link's longest is cut.
        """
        found = []
        for packet in self.o.packets:
            copies = [packet[0][0] >> shift & 0xFFFF for shift in (0, 16, 32)]
            number, votes = Counter(copies).most_common(1)[0]
            assert votes >= 2
            original = self.i.packets[number][: self.params.beats]
            cut = not original[-1][2]
            flipped = None
            for k, (beat, beat_in) in enumerate(zip(packet, original, strict=True)):
                (data, keep, last, user), (data_in, keep_in, _, user_in) = beat, beat_in
                assert (keep, last) == (keep_in, k == len(original) - 1)
                if data != data_in:
                    assert flipped is None
                    assert (data ^ data_in).bit_count() == 1
                    flipped = (data ^ data_in).bit_length() - 1
                    assert flipped < 480
                    assert keep >> flipped // 8 & 1
                    flipped += k * self.params.data_bits
            assert user == (user_in or cut or flipped is not None)
            found.append((number, flipped))
        return found


async def note_steps(bench, steps):
    """Return how many frames have stepped aside before each cycle."""
    while True:
        await bench.edge
        steps[cycle()] = int(bench.dut.reordered.value)


async def started(dut, sink_stall=never):
    bench = Bench(dut, sink_stall)
    await start(dut)
    return bench


def chance(share):
    return round(share * ALWAYS)


def near(count, trials, share):
    """Whether it is within five and a half standard deviations of a binomial distribution."""
    return abs(count - trials * share) <= 5.5 * (trials * share * (1 - share)) ** 0.5


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(latency=[0, 1, 2, 3, 10, 250, 4095])
async def keeps_its_latency(dut, latency):
    """It is exact, alone and at a beat per cycle for longer than the latency."""
    bench = await started(dut)
    bench.set(latency=latency)
    for gap in (7, 0, 1, 2, 30):
        await bench.send([bench.packet()])
        await bench.wait(gap)
    await bench.send([bench.packet() for _ in range(latency + 200)])
    await bench.drain()
    assert bench.o.cycles == [taken + latency for taken in bench.i.cycles]
    first = bench.i.cycles[5]
    assert bench.i.cycles[5:] == list(range(first, first + latency + 200))
    assert bench.o.packets == bench.i.packets


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, latency=[0, 1, 20, None])
async def passes_all_in_order(dut, stalls, latency):
    """Packets are unimpaired while the latency changes, at the rate of the slower side."""
    source, sink = stalls
    bench = await started(dut, sink)
    bench.set(latency=latency or 0)
    packets = [bench.packet(random.choice([1, 1, 2, 3, 4]), random.random() < 0.1)]
    for _ in range(500):
        packets.append(bench.packet(random.choice([1, 1, 2, 3, 4]), random.random() < 0.1))
    began = cycle()
    if latency is None:
        for packet in packets:
            if random.random() < 0.2:
                bench.set(latency=random.choice([0, 1, 2, 5, 40]), displacement=7)
            await bench.send([packet], source)
    else:
        await bench.send(packets, source)
    counts = await bench.drain()
    assert bench.i.packets == [tuple(packet) for packet in packets]
    assert bench.o.packets == bench.i.packets
    assert not any(counts[name] for name in ("dropped", "duplicated", "reordered", "corrupted"))
    if stalls.none and bench.params.depth > 40 and latency is not None:
        beats = sum(len(packet) for packet in packets)
        assert bench.o.cycles[-1] == began + beats + latency


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(latency=[0, 5])
async def fills_up_and_loses_nothing(dut, latency):
    bench = await started(dut)
    bench.set(latency=latency)
    depth = bench.params.depth
    dut.o_tready.value = 0
    cocotb.start_soon(bench.send([bench.packet() for _ in range(depth + 20)]))
    await bench.wait(depth + 1)
    for _ in range(10):
        await bench.edge
        assert not dut.i_tready.value
        assert dut.o_tvalid.value
    assert len(bench.i.packets) == depth
    dut.o_tready.value = 1
    await bench.wait(depth)
    await bench.drain()
    assert bench.o.packets == bench.i.packets


def check_bounds(bench, displacement, steps=None):
    """Check that nobody is overtaken by more than displacement - 1 later packets.

    With ``steps``, of a link whose latency is constant and whose o never stalls: nobody is later
    than its latency, displacement, and what o was busy with meanwhile.
    """
    deliveries = [number for number, _ in bench.deliveries()]
    first, overtaken, ahead = set(), 0, []
    for at, number in enumerate(deliveries):
        if number in first:
            continue
        first.add(number)
        # Deliveries of later packets, each counted once.
        later = len(ahead) - bisect_left(ahead, number)
        ahead.insert(bisect_left(ahead, number), number)
        assert later <= max(displacement, 1) - 1, number
        overtaken += later > 0
        if steps is not None:
            due = bench.i.cycles[number] + bench.settings["latency"]
            others = at - bisect_left(bench.o.cycles, due)
            waited = bench.o.cycles[at] - due
            stepped = steps[bench.o.cycles[at]] - steps[due]
            assert 0 <= waited <= displacement + others + stepped
    counts = bench.counts()
    assert overtaken <= counts["reordered"]
    assert max(Counter(deliveries).values(), default=0) <= 2
    assert sum(n > 1 for n in Counter(deliveries).values()) == counts["duplicated"]
    assert len(first) == counts["sent"] - counts["dropped"]
    return overtaken


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(percent=[1, 10, 30], stalls=STALLS)
async def impairs_as_often_as_asked(dut, percent, stalls):
    """All four happen at once; each count is within tight bounds, and as the ports saw."""
    source, sink = stalls
    bench = await started(dut, sink)
    share, frames, displacement = percent / 100, 6000, 8
    settings = dict.fromkeys(("drop", "duplicate", "reorder", "corrupt"), chance(share))
    bench.set(latency=20, displacement=displacement, **settings)
    steps = {} if sink is never else None
    if steps is not None:
        cocotb.start_soon(note_steps(bench, steps))
    await bench.send([bench.packet() for _ in range(frames)], source)
    counts = await bench.drain()
    arrived = frames - counts["dropped"]
    flips = {number: bit for number, bit in bench.deliveries() if bit is not None}
    assert near(counts["dropped"], frames, share)
    assert near(counts["duplicated"], arrived, share)
    assert near(counts["reordered"], arrived - counts["duplicated"], share)
    assert near(len(flips), arrived, share)
    assert counts["corrupted"] == sum(packet[-1][3] for packet in bench.o.packets)
    overtaken = check_bounds(bench, displacement, steps)
    assert overtaken > counts["reordered"] / 4


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=["drop", "duplicate", "reorder", "corrupt"], share=[0.003, 1.0])
async def impairs_one_way_only(dut, kind, share):
    bench = await started(dut)
    bench.set(displacement=5, **{kind: chance(share)})
    await bench.send([bench.packet() for _ in range(3000)], rarely)
    counts = await bench.drain()
    overtaken = check_bounds(bench, 5)
    assert overtaken >= counts["reordered"] // 5  # those held back overtake each other as well
    done = {"drop": "dropped"}.get(kind, kind.removesuffix("e") + "ed")
    for name in ("dropped", "duplicated", "reordered", "corrupted"):
        assert near(counts[name], 3000, round(share * ALWAYS) / ALWAYS if name == done else 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=["drop", "duplicate", "reorder", "corrupt"])
async def impairs_packets_of_any_length(dut, kind):
    """Whole packets come out once, not at all, or twice, overtaken by few others."""
    bench = await started(dut, rarely)
    packets, displacement = 400, 40
    bench.set(latency=3, displacement=displacement, **{kind: chance(0.5)})
    lengths = random.choices(range(1, bench.params.beats + 1), k=packets)
    await bench.send([bench.packet(beats) for beats in lengths], rarely)
    counts = await bench.drain()
    overtaken = check_bounds(bench, displacement)
    assert (overtaken > 0) == (kind == "reorder")
    whole = bench.params.holds > 8 or kind in ("drop", "corrupt")  # few are held by few places
    done = {"drop": "dropped"}.get(kind, kind.removesuffix("e") + "ed")
    for name in ("dropped", "duplicated", "reordered", "corrupted"):
        assert counts[name] == 0 or name == done
    assert near(counts[done], packets, 0.5) if whole else counts[done] > packets / 20
    flips = [bit for _, bit in bench.deliveries() if bit is not None]
    assert len(flips) == counts["corrupted"]
    if kind == "corrupt":  # in any beat, of which the last ones are few
        beats = {bit // bench.params.data_bits for bit in flips}
        assert len(beats) > bench.params.beats / 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=["", "duplicate", "reorder", "drop"])
async def cuts_what_is_too_long(dut, kind):
    """Packets are one beat too long, or many; what follows is whole."""
    bench = await started(dut)
    bench.set(latency=2, displacement=4, **({kind: ALWAYS} if kind else {}))
    most = bench.params.beats
    lengths = (most, most + 1, 1, 3 * most, most - 1)
    await bench.send([bench.packet(beats) for beats in lengths])
    counts = await bench.drain()
    numbers = [number for number, _ in bench.deliveries()]
    assert set(numbers) == (set() if kind == "drop" else set(range(len(lengths))))
    assert counts["corrupted"] == sum(lengths[number] > most for number in numbers)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=["duplicate", "reorder"], displacement=[0, 1, 8], latency=[0, 9])
async def extra_delays_are_uniform(dut, kind, displacement, latency):
    """Each extra delay of a lonely frame, from 1 to displacement, is as frequent as others."""
    bench = await started(dut)
    bench.set(latency=latency, displacement=displacement, **{kind: ALWAYS})
    longest = max(displacement, 1)
    for _ in range(800):
        await bench.send([bench.packet()])
        await bench.wait(longest)
    await bench.drain()
    arrivals = {number: at + latency for number, at in enumerate(bench.i.cycles)}
    deliveries = [number for number, _ in bench.deliveries()]
    delays = [at - arrivals[n] for n, at in zip(deliveries, bench.o.cycles, strict=True)]
    extra = [delay for delay in delays if delay]
    assert len(delays) - len(extra) == (800 if kind == "duplicate" else 0)
    counts = Counter(extra)
    assert set(counts) == set(range(1, longest + 1))
    assert all(near(count, 800, 1 / longest) for count in counts.values())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_bit_may_flip(dut):
    bench = await started(dut)
    bench.set(corrupt=ALWAYS)
    await bench.send([bench.packet() for _ in range(6000)])
    counts = await bench.drain()
    assert counts["corrupted"] == 6000
    bits = Counter(bit for _, bit in bench.deliveries())
    assert None not in bits
    per_word = Counter(bit // 32 for bit in bits.elements())
    per_place = Counter(bit % 32 for bit in bits.elements())
    assert all(near(per_word[word], 6000, 1 / 15) for word in range(15))
    assert all(near(per_place[place], 6000, 1 / 32) for place in range(32))
    assert len(bits) > 470


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=["duplicate", "reorder"])
async def holds_no_more_than_it_can(dut, kind):
    """The first frames fill the pool, the others pass in order, once; then the held ones come."""
    bench = await started(dut)
    bench.set(displacement=4095, seed=4, **{kind: ALWAYS})  # which holds none of them shortly
    holds = bench.params.holds
    await bench.send([bench.packet() for _ in range(60)])
    await bench.wait(3)
    name = "duplicated" if kind == "duplicate" else "reordered"
    at_once = [number for number, _ in bench.deliveries()]
    assert at_once == list(range(holds if kind == "reorder" else 0, 60))
    assert bench.counts()[name] == holds
    await bench.drain()
    check_bounds(bench, 4095)
    assert len({number for number, _ in bench.deliveries()}) == 60


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def mixed_traffic(dut, stalls):
    """Packets have any length, gaps and stalls, and settings change all the time."""
    source, sink = stalls
    bench = await started(dut, sink)
    most = bench.params.beats
    for _ in range(150):
        kinds = ("drop", "duplicate", "reorder", "corrupt")
        chances = {kind: chance(random.choice([0, 0.1, 0.5])) for kind in kinds}
        bench.set(
            latency=random.choice([0, 0, 1, 7, 60]),
            displacement=random.choice([0, 1, 4, 30]),
            down=random.random() < 0.1,
            **chances,
        )
        lengths = random.choices([1, 2, random.randint(1, most), most + 2], [8, 2, 1, 0.3], k=20)
        packets = [bench.packet(beats) for beats in lengths]
        await bench.send(packets, source)
        await bench.wait(random.choice([0, 0, 5, 100]))
    counts = await bench.drain()
    check_bounds(bench, 30)
    assert counts["corrupted"] == sum(packet[-1][3] for packet in bench.o.packets) > 50
    assert min(counts.values()) > 50
    long = [n for n, _ in bench.deliveries() if len(bench.i.packets[n]) > 1]
    assert len(long) > len(set(long))
    assert any(a > b for a, b in pairwise(long))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def seeds_repeat_and_indices_differ(dut):
    """The same frames go into a link that was reset."""
    bench = await started(dut)
    packets = [bench.packet() for _ in range(300)]
    traces = {}
    for index, seed in ((1, 5), (1, 5), (1, 6), (2, 5), (0, 0), (0, 1)):
        dut.rst.value, dut.index.value = 1, index
        kinds = ("drop", "duplicate", "reorder", "corrupt")
        bench.set(latency=4, displacement=9, seed=seed, **dict.fromkeys(kinds, chance(0.1)))
        await bench.wait(3)
        dut.rst.value = 0
        before, began = len(bench.o.packets), cycle()
        await bench.send(packets)
        await bench.wait(100)
        came = zip(bench.o.packets[before:], bench.o.cycles[before:], strict=True)
        traces.setdefault((index, seed), set()).add(tuple((p, at - began) for p, at in came))
    assert [len(found) for found in traces.values()] == [1] * 5
    assert len(set.union(*traces.values())) == 5


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def links_are_not_alike(dut):
    """What is dropped at one index says nothing about another index, or a frame later."""
    bench = await started(dut)
    packets, lost = [bench.packet() for _ in range(2000)], []
    for index in (0, 1):
        dut.rst.value, dut.index.value = 1, index
        bench.set(drop=chance(0.5), seed=0)
        await bench.wait(3)
        dut.rst.value = 0
        bench.o.packets.clear()
        await bench.send(packets)
        await bench.wait(5)
        arrived = set(bench.o.packets)
        lost.append([tuple(packet) not in arrived for packet in packets])
    first, second = lost
    assert near(sum(a == b for a, b in zip(first, second, strict=True)), 2000, 0.5)
    assert near(sum(a == b for a, b in pairwise(first)), 1999, 0.5)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_dead_link_drops_all(dut):
    """It drops whole packets that begin while it is down; those under way still arrive."""
    bench = await started(dut)
    bench.set(latency=30)
    await bench.send([bench.packet() for _ in range(10)])
    long = bench.packet(4)
    await bench.send([long[:2]])
    bench.set(latency=30, down=1)
    await bench.send([long[2:]], often)
    await bench.send([bench.packet(), bench.packet(3)])
    half = bench.packet(4)
    await bench.send([half[:1]])
    bench.set(latency=30)
    await bench.send([half[1:]])
    await bench.send([bench.packet(2), bench.packet()])
    counts = await bench.drain()
    assert [number for number, _ in bench.deliveries()] == [*range(11), 14, 15]
    assert counts["dropped"] == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_straight_link_needs_no_clock_edge(dut):
    """At latency 0 a frame is at o in the cycle in which it is at i, even if o waits."""
    bench = await started(dut)
    dut.o_tready.value = 0
    await bench.wait(2)
    sending = cocotb.start_soon(bench.send([bench.packet(), bench.packet()]))
    await bench.edge
    await bench.edge
    assert dut.o_tvalid.value
    await sending
    await bench.wait(5)
    assert (len(bench.i.packets), len(bench.o.packets)) == (2, 0)
    dut.o_tready.value = 1
    await bench.drain()
    assert bench.o.packets == bench.i.packets
