"""Tests that rows are posted as requests and beats, up to a halt in any cycle."""

import random
from dataclasses import replace

from hdl.common.axi import FOUR_KB
from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.row_poster import RowPoster
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, benched, crossed, never, often
from tests.simulated import simulated

TINY = GatherEngineParams(data_bits=256, tags=4, max_read=128, outputs="host")
SIZES = [TINY, replace(TINY, data_bits=512, tags=16, max_read=512)]
TOP = 1 << 64

test_row_poster = simulated(RowPoster, SIZES, __name__)


class PosterBench(Bench):
    """Sends joined rows, and checks requests, beats and the end of each array."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.size = self.params.beat_bytes
        self.done, self.moved = self.record("done"), self.record("moved")

    async def array(self, octets, address):
        """Begin an array of ``octets`` bytes; return its beats."""
        self.set(address=address, size=octets)
        self.rows.extend(beats := list(self.joined(octets)))
        await self.strobe(begin=1)
        return [beat["data"] for beat in beats]

    def joined(self, octets):
        """Yield the beats of rows of ``octets`` bytes, of which the last is marked."""
        for left in range(octets, 0, -self.size):
            yield {
                "data": random.getrandbits(self.params.data_bits),
                "bytes": min(left, self.size),
                "last": left <= self.size,
                "final": random.getrandbits(1),
                "beyond": random.getrandbits(1),
                "cause": 0,
            }

    async def some_array(self):
        """Post an array of any size to any address."""
        octets, address = some_bytes(self.size), some_address() % TOP
        await self.check(octets, address, await self.array(octets, address))

    def beats_of(self, octets):
        return -(-octets // self.size)

    async def check(self, octets, address, beats):
        """Wait for an array's end, compare all of it, and return the cycles of its beats."""
        await self.done.wait_for(len(self.done.beats) + 1)
        await self.wait(random.randrange(3))
        places = range(0, octets, FOUR_KB)
        assert [(r["address"], r["bytes"]) for r in self.writes.beats] == [
            ((address + k) % TOP, min(FOUR_KB, octets - k)) for k in places
        ]
        assert list(self.data.beats) == beats
        assert list(self.moved.cycles) == list(self.data.cycles)
        assert list(self.done.cycles) == [self.data.cycles[-1]]
        cycles = list(self.data.cycles)
        self.forget_all()
        return cycles

    def forget_all(self):
        """Forget what has moved, and what was reported."""
        self.forget()
        for record in (self.done, self.moved):
            record.take()


def some_bytes(beat):
    """Draw a number of bytes near a limit of beats or requests, or any."""
    near = random.choice((beat, 2 * beat, FOUR_KB - beat, FOUR_KB, 2 * FOUR_KB, 3 * FOUR_KB))
    return max(1, random.choice((near + random.randint(-2, 2), random.randint(1, 5 * FOUR_KB))))


def some_address():
    return random.choice((0, TOP - FOUR_KB, 1 << 32, random.randrange(TOP))) + random.randrange(99)


@benched(PosterBench, stalls=STALLS)
async def arrays_follow_each_other(bench):
    """The next array begins up to three cycles after the last has ended."""
    for _ in range(12):
        await bench.some_array()


@benched(PosterBench, us=100)
async def requests_keep_ahead_of_late_rows(bench):
    """A request is made before the beats of the last have come, and a beat leaves each cycle."""
    octets, address = 6 * FOUR_KB + 5, some_address()
    bench.rows.stall = always
    beats = await bench.array(octets, address)
    await bench.wait(30)
    assert len(bench.writes.beats) == 1  # a second one would owe more than a request's beats
    bench.rows.stall = never
    cycles = await bench.check(octets, address, beats)
    assert cycles[-1] - cycles[0] == len(beats) - 1


async def halted(bench, cut, octets):
    """Halt an array ``cut`` cycles after its begin; return its beats.

    Rows go away with the halt, as those of a fetcher that it resets, or wait for its end.
    """
    bench.set(address=some_address() % TOP, size=octets)
    bench.rows.extend(beats := list(bench.joined(octets)))
    await bench.play([{"begin": int(k == 0), "halt": int(k >= cut)} for k in range(cut + 1)])
    bench.set(halt=1)
    if random.getrandbits(1):
        bench.rows.abandon()
    await bench.wait(1)  # in which ``done`` need not be up to date
    taken = len(bench.rows.cycles)
    await bench.until("done", 1)
    assert len(bench.rows.cycles) == taken
    return [beat["data"] for beat in beats]


@benched(PosterBench, stalls=STALLS, near=["begin", "end", "between"], us=900)
async def a_halt_ends_an_array(bench, near):
    """Requests that were taken get all their beats, and the next array has nothing of the last."""
    bench.writes.let_go()
    for trial in range(24):
        octets = some_bytes(bench.size)
        last = bench.beats_of(octets)  # about the cycle of the last beat, if nothing pauses
        cut = {"begin": 1 + trial, "end": last + trial, "between": random.randint(1, 4 * last)}
        beats = await halted(bench, cut[near], octets)
        count, moved = len(bench.data.beats), len(bench.moved.beats)
        assert count == sum(bench.beats_of(request["bytes"]) for request in bench.writes.beats)
        assert list(bench.moved.cycles) == list(bench.data.cycles)[:moved]
        assert list(bench.data.beats)[:moved] == beats[:moved]
        bench.rows.abandon()
        await bench.wait(random.randrange(4))
        bench.set(halt=0)
        await bench.wait(random.randrange(1, 4))
        assert (len(bench.data.beats), len(bench.moved.beats)) == (count, moved)
        assert count == sum(bench.beats_of(request["bytes"]) for request in bench.writes.beats)
        bench.forget_all()
        await bench.some_array()


@benched(PosterBench, us=100)
async def an_array_of_any_size_begins(bench):
    """Each bit of the size counts: that alone leads to a request, which a halt ends."""
    for bit in range(bench.params.size_bits):
        bench.set(address=some_address(), size=1 << bit)
        await bench.strobe(begin=1)
        await bench.wait(10)
        assert [request["bytes"] for request in bench.writes.beats] == [min(1 << bit, FOUR_KB)]
        bench.set(halt=1)
        await bench.wait(2)
        await bench.until("done", 1)
        bench.set(halt=0)
        await bench.wait(2)
        bench.forget_all()


@crossed(cut=range(1, 20), us=60)
async def nothing_is_left_after_a_reset(dut, cut):
    bench = await PosterBench(dut, (never, often if cut % 2 else never)).begin()
    await bench.array(3 * FOUR_KB, some_address())
    await bench.wait(cut)
    await bench.reset(1)
    bench.forget_all()
    await bench.some_array()
