import random
from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import cocotb

from hdl.common.packets import LEAST_BYTES
from sim.harness.axi_streams import PacketSink, beats_of
from sim.harness.bench import Bench
from sim.harness.stalls import STALLS, always, never, rarely
from sim.harness.streams import crossed, cycle
from sim.harness.verilator import simulate
from sim.surroundings.link import ALWAYS, COUNTERS, Link, LinkParams

SMALL = LinkParams(depth=8, holds=2, beats=5, data_bits=128)


def test_link():
    simulate(Link(LinkParams()), __name__)


def test_small_link():
    tests = "in_order|mixed_traffic|holds_no_more|fills_up|any_length|too_long"
    simulate(Link(SMALL), __name__, test_filter=tests)


class LinkBench(Bench):
    """Has the link, its settings, and what went in and came out."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, stalls or (never, never), index=3)
        self.o = PacketSink(dut, "o", stall=self.sink_stall)
        self.provided = []  # bytes of each packet, and whether it is broken
        self.longest = 0  # that nothing comes out while something is inside
        self.beat_bytes = self.params.data_bits // 8
        self.change()

    def change(self, **settings):
        defaults = {"seed": random.getrandbits(32), "latency": 0, "displacement": 0}
        self.settings = defaults | settings
        quiet = self.settings["latency"] + self.settings["displacement"] + 100
        self.longest = max(self.longest, quiet)
        self.set(settings=self.settings)

    def packet(self, beats=1, corrupt=False):
        """Return a new packet's beats: its number three times, then random bytes."""
        size = min(LEAST_BYTES, self.beat_bytes)
        if beats > 1:
            size = (beats - 1) * self.beat_bytes + random.randint(1, self.beat_bytes)
        octets = len(self.provided).to_bytes(2, "little") * 3 + random.randbytes(size - 6)
        self.provided.append((octets, corrupt))
        return list(beats_of(octets, corrupt=corrupt, beat_bytes=self.beat_bytes))

    async def send(self, packets):
        await self.i.send_all(beat for packet in packets for beat in packet)

    async def drain(self):
        """Wait until nothing more can come out; then the counters tell what the ports saw."""
        await self.settle(self.longest)
        counts = self.counts()
        assert counts["sent"] == len(self.provided)
        assert counts["delivered"] == len(self.o.packets)
        assert counts["sent"] + counts["duplicated"] - counts["dropped"] == counts["delivered"]
        return counts

    def counts(self):
        return {name: int(getattr(self.dut, name).value) for name in COUNTERS}

    @property
    def came(self):
        return [(packet.octets, packet.corrupt) for packet in self.o.packets]

    def deliveries(self):
        """Return the number of each packet that came out, which is one that went in, and its
        errors.

        At most one bit is flipped; a longer packet than the link's longest is cut.
        """
        result = []
        for octets, corrupt in self.came:
            copies = [octets[k : k + 2] for k in (0, 2, 4)]
            number, votes = Counter(copies).most_common(1)[0]
            assert votes >= 2
            number = int.from_bytes(number, "little")
            sent, was_corrupt = self.provided[number]
            whole = sent[: self.params.beats * self.beat_bytes]
            assert len(octets) == len(whole)
            wrong = int.from_bytes(octets, "little") ^ int.from_bytes(whole, "little")
            assert wrong.bit_count() <= 1
            flipped = wrong.bit_length() - 1 if wrong else None
            assert flipped is None or flipped % self.params.data_bits < 480
            assert corrupt == (was_corrupt or whole != sent or flipped is not None)
            result.append((number, flipped))
        return result


async def note_steps(bench, steps):
    """Return how many frames have stepped aside before each cycle."""
    while True:
        await bench.edge
        steps[cycle()] = int(bench.dut.reordered.value)


def chance(share):
    return round(share * ALWAYS)


def near(count, trials, share):
    """Whether it is within five and a half standard deviations of a binomial distribution."""
    return abs(count - trials * share) <= 5.5 * (trials * share * (1 - share)) ** 0.5


@crossed(latency=[0, 1, 2, 3, 10, 250, 4095])
async def keeps_its_latency(dut, latency):
    """It is exact, alone and at a beat per cycle for longer than the latency."""
    bench = await LinkBench(dut).begin()
    bench.change(latency=latency)
    for gap in (7, 0, 1, 2, 30):
        await bench.send([bench.packet()])
        await bench.wait(gap)
    await bench.send([bench.packet() for _ in range(latency + 200)])
    await bench.drain()
    assert bench.o.cycles == [taken + latency for taken in bench.i.cycles]
    first = bench.i.cycles[5]
    assert bench.i.cycles[5:] == list(range(first, first + latency + 200))
    assert bench.came == bench.provided


@crossed(stalls=STALLS, latency=[0, 1, 20, None])
async def passes_all_in_order(dut, stalls, latency):
    """Packets are unimpaired while the latency changes, at the rate of the slower side."""
    bench = await LinkBench(dut, *stalls).begin()
    bench.change(latency=latency or 0)
    lengths = random.choices([1, 2, 3, 4], [2, 1, 1, 1], k=501)
    packets = [bench.packet(beats, random.random() < 0.1) for beats in lengths]
    if latency is None:
        for packet in packets:
            if random.random() < 0.2:
                bench.change(latency=random.choice([0, 1, 2, 5, 40]), displacement=7)
            await bench.send([packet])
    else:
        await bench.send(packets)
    counts = await bench.drain()
    assert bench.came == bench.provided
    assert not any(counts[name] for name in ("dropped", "duplicated", "reordered", "corrupted"))
    if stalls.absent and bench.params.depth > 40 and latency is not None:
        assert bench.o.cycles == [at + latency for at in bench.i.cycles]
        assert bench.i.cycles[-1] - bench.i.cycles[0] == sum(lengths) - 1


@crossed(latency=[0, 5])
async def fills_up_and_loses_nothing(dut, latency):
    bench = await LinkBench(dut, never, always).begin()
    bench.change(latency=latency)
    depth = bench.params.depth
    for _ in range(depth + 20):
        bench.i.extend(bench.packet())
    await bench.wait(depth + 2)
    for _ in range(10):
        await bench.edge
        assert not dut.i_tready.value
        assert dut.o_tvalid.value
    assert len(bench.i.cycles) == depth
    bench.o.stall = never
    await bench.drain()
    assert bench.came == bench.provided


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


@crossed(percent=[1, 10, 30], stalls=STALLS)
async def impairs_as_often_as_requested(dut, percent, stalls):
    """All four happen at once; each count is within tight bounds, and as the ports saw."""
    bench = await LinkBench(dut, *stalls).begin()
    share, frames, displacement = percent / 100, 6000, 8
    settings = dict.fromkeys(("drop", "duplicate", "reorder", "corrupt"), chance(share))
    bench.change(latency=20, displacement=displacement, **settings)
    steps = {} if stalls.absent else None
    if steps is not None:
        cocotb.start_soon(note_steps(bench, steps))
    await bench.send([bench.packet() for _ in range(frames)])
    counts = await bench.drain()
    arrived = frames - counts["dropped"]
    flips = {number: bit for number, bit in bench.deliveries() if bit is not None}
    assert near(counts["dropped"], frames, share)
    assert near(counts["duplicated"], arrived, share)
    assert near(counts["reordered"], arrived - counts["duplicated"], share)
    assert near(len(flips), arrived, share)
    assert counts["corrupted"] == sum(packet.corrupt for packet in bench.o.packets)
    overtaken = check_bounds(bench, displacement, steps)
    assert overtaken > counts["reordered"] / 4


@crossed(kind=["drop", "duplicate", "reorder", "corrupt"], share=[0.003, 1.0])
async def impairs_one_path_only(dut, kind, share):
    bench = await LinkBench(dut, rarely, never).begin()
    bench.change(displacement=5, **{kind: chance(share)})
    await bench.send([bench.packet() for _ in range(3000)])
    counts = await bench.drain()
    overtaken = check_bounds(bench, 5)
    assert overtaken >= counts["reordered"] // 5  # those held back overtake each other as well
    done = {"drop": "dropped"}.get(kind, kind.removesuffix("e") + "ed")
    for name in ("dropped", "duplicated", "reordered", "corrupted"):
        assert near(counts[name], 3000, round(share * ALWAYS) / ALWAYS if name == done else 0)


@crossed(kind=["drop", "duplicate", "reorder", "corrupt"])
async def impairs_packets_of_any_length(dut, kind):
    """Whole packets come out once, not at all, or twice, overtaken by few others."""
    bench = await LinkBench(dut, rarely, rarely).begin()
    packets, displacement = 400, 40
    bench.change(latency=3, displacement=displacement, **{kind: chance(0.5)})
    lengths = random.choices(range(1, bench.params.beats + 1), k=packets)
    await bench.send([bench.packet(beats) for beats in lengths])
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


@crossed(kind=["", "duplicate", "reorder", "drop"])
async def cuts_what_is_too_long(dut, kind):
    """Packets are one beat too long, or many; what follows is whole."""
    bench = await LinkBench(dut).begin()
    bench.change(latency=2, displacement=4, **({kind: ALWAYS} if kind else {}))
    most = bench.params.beats
    lengths = (most, most + 1, 1, 3 * most, most - 1)
    await bench.send([bench.packet(beats) for beats in lengths])
    counts = await bench.drain()
    numbers = [number for number, _ in bench.deliveries()]
    assert set(numbers) == (set() if kind == "drop" else set(range(len(lengths))))
    assert counts["corrupted"] == sum(lengths[number] > most for number in numbers)


@crossed(kind=["duplicate", "reorder"], displacement=[0, 1, 8], latency=[0, 9])
async def extra_delays_are_uniform(dut, kind, displacement, latency):
    """Each extra delay of a lonely frame, from 1 to displacement, is as frequent as others."""
    bench = await LinkBench(dut).begin()
    bench.change(latency=latency, displacement=displacement, **{kind: ALWAYS})
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
    bench = await LinkBench(dut).begin()
    bench.change(corrupt=ALWAYS)
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


@crossed(kind=["duplicate", "reorder"])
async def holds_no_more_than_it_can(dut, kind):
    """The first frames fill the pool, the others pass in order, once; then the held ones come."""
    bench = await LinkBench(dut).begin()
    bench.change(displacement=4095, seed=4, **{kind: ALWAYS})  # which holds none of them shortly
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


@crossed(stalls=STALLS, ms=2)
async def mixed_traffic(dut, stalls):
    """Packets have any length, gaps and stalls, and settings change all the time."""
    bench = await LinkBench(dut, *stalls).begin()
    most = bench.params.beats
    for _ in range(150):
        kinds = ("drop", "duplicate", "reorder", "corrupt")
        chances = {kind: chance(random.choice([0, 0.1, 0.5])) for kind in kinds}
        bench.change(
            latency=random.choice([0, 0, 1, 7, 60]),
            displacement=random.choice([0, 1, 4, 30]),
            down=random.random() < 0.1,
            **chances,
        )
        lengths = random.choices([1, 2, random.randint(1, most), most + 2], [8, 2, 1, 0.3], k=20)
        await bench.send([bench.packet(beats) for beats in lengths])
        await bench.wait(random.choice([0, 0, 5, 100]))
    counts = await bench.drain()
    check_bounds(bench, 30)
    assert counts["corrupted"] == sum(packet.corrupt for packet in bench.o.packets) > 50
    assert min(counts.values()) > 50
    long = [n for n, _ in bench.deliveries() if len(bench.provided[n][0]) > bench.beat_bytes]
    assert len(long) > len(set(long))
    assert any(a > b for a, b in pairwise(long))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def seeds_repeat_and_indices_differ(dut):
    """The same frames go into a link that was reset."""
    bench = await LinkBench(dut).begin()
    packets = [bench.packet() for _ in range(300)]
    traces = {}
    for index, seed in ((1, 5), (1, 5), (1, 6), (2, 5), (0, 0), (0, 1)):
        dut.rst.value, dut.index.value = 1, index
        kinds = ("drop", "duplicate", "reorder", "corrupt")
        bench.change(latency=4, displacement=9, seed=seed, **dict.fromkeys(kinds, chance(0.1)))
        await bench.wait(3)
        dut.rst.value = 0
        before, began = len(bench.o.packets), cycle()
        await bench.send(packets)
        await bench.wait(100)
        came = zip(bench.came[before:], bench.o.cycles[before:], strict=True)
        traces.setdefault((index, seed), set()).add(tuple((p, at - began) for p, at in came))
    assert [len(result) for result in traces.values()] == [1] * 5
    assert len(set.union(*traces.values())) == 5


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def links_are_not_alike(dut):
    """What is dropped at one index says nothing about another index, or a frame later."""
    bench = await LinkBench(dut).begin()
    packets, lost, before = [bench.packet() for _ in range(2000)], [], 0
    for index in (0, 1):
        dut.rst.value, dut.index.value = 1, index
        bench.change(drop=chance(0.5), seed=0)
        await bench.wait(3)
        dut.rst.value = 0
        await bench.send(packets)
        await bench.wait(5)
        arrived = set(bench.came[before:])
        before = len(bench.came)
        lost.append([packet not in arrived for packet in bench.provided])
    first, second = lost
    assert near(sum(a == b for a, b in zip(first, second, strict=True)), 2000, 0.5)
    assert near(sum(a == b for a, b in pairwise(first)), 1999, 0.5)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_dead_link_drops_all(dut):
    """It drops whole packets that begin while it is down; those under way still arrive."""
    bench = await LinkBench(dut).begin()
    bench.change(latency=30)
    await bench.send([bench.packet() for _ in range(10)])
    long = bench.packet(4)
    await bench.send([long[:2]])
    bench.change(latency=30, down=1)
    await bench.send([long[2:]])
    await bench.send([bench.packet(), bench.packet(3)])
    half = bench.packet(4)
    await bench.send([half[:1]])
    bench.change(latency=30)
    await bench.send([half[1:]])
    await bench.send([bench.packet(2), bench.packet()])
    counts = await bench.drain()
    assert [number for number, _ in bench.deliveries()] == [*range(11), 14, 15]
    assert counts["dropped"] == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_straight_link_needs_no_clock_edge(dut):
    """At latency 0 a frame is at o in the cycle in which it is at i, even if o waits."""
    bench = await LinkBench(dut, never, always).begin()
    await bench.wait(2)
    for _ in range(2):
        bench.i.extend(bench.packet())
    await bench.until("i_tvalid", 1)
    assert dut.o_tvalid.value
    await bench.wait(5)
    assert (len(bench.i.cycles), len(bench.o.packets)) == (2, 0)
    bench.o.stall = never
    await bench.drain()
    assert bench.came == bench.provided
