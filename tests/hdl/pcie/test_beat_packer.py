"""Packs parts of any length, from any dword on, into full beats, with causes and stalls."""

import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.pcie.beat_packer import BeatPacker, BeatPackerParams
from sim.golden.pcie_link import cut_at
from sim.golden.pcie_requester import Cause
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from tests.simulated import simulated

SIZES = [
    BeatPackerParams(user_bits=4),
    BeatPackerParams(data_bits=256, user_bits=4),
    BeatPackerParams(user_bits=4, unit_bytes=1),
]
READ = 256  #: bytes of the largest read
REQUESTS = 150
CAUSES = [Cause.NONE] * 30 + list(Cause)

test_beat_packer = simulated(BeatPacker, SIZES, __name__)


def chunks(octets, size):
    """Cut ``octets`` into beats of ``size``; the last is as short as what is left."""
    return [octets[k : k + size] for k in range(0, len(octets), size)]


class PackerBench(Bench):
    """Puts data in, and knows what has to come out."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.size, self.required = self.params.data_bits // 8, []
        self.unit = self.params.unit_bytes

    def part(self, octets, **rest):
        """Put a part into a beat, from any unit that leaves room for it; the rest is random."""
        room = min(32 - self.unit, self.size - len(octets))
        skip = self.unit * random.randint(0, room // self.unit)
        filled = random.randbytes(skip) + octets
        filled += random.randbytes(self.size - len(filled))
        self.parts.append(
            {
                "data": int.from_bytes(filled, "little"),
                "skip": skip // self.unit,
                "count": len(octets) // self.unit,
                **rest,
            }
        )

    def issue(self, address, size, causes=CAUSES, first=0):
        """Draw the parts of a request: each of its reads begins a beat, and may have failed."""
        user = random.getrandbits(self.params.user_bits)
        pieces = [
            (random.randbytes(end - begin), random.choice(causes))
            for begin, end in cut_at(address, address + size, READ)
        ]
        packed, result = bytes(first), []
        for last, (octets, cause) in enumerate(pieces, 1 - len(pieces)):
            parts = chunks(octets, self.size)
            for end, part in enumerate(parts, 1 - len(parts)):
                self.part(part, ends=last == end == 0, user=user, cause=int(cause))
            result.append((len(packed), cause))
            packed += octets
        for place, octets in enumerate(chunks(packed, self.size)):
            reached = min(place * self.size + self.size, len(packed))
            failed = [cause for begin, cause in result if begin < reached and cause]
            below = first if place == 0 else 0
            self.required.append(
                (octets, below, reached == len(packed), user, next(iter(failed), Cause.NONE))
            )

    async def finish(self):
        await self.settle()
        for result, expected in zip(self.beats.beats, self.required, strict=True):
            octets, below, last, user, cause = expected
            assert result["bytes"] == len(octets)
            held = result["data"].to_bytes(self.size, "little")[: len(octets)]
            assert held[below:] == octets[below:]
            assert (result["last"], result["user"]) == (last, user)
            assert Cause(int(result["cause"].value)) == cause


@crossed(stalls=STALLS)
async def every_unit_in_its_place(dut, stalls):
    bench = await PackerBench(dut, stalls.value).begin()
    for _ in range(REQUESTS):
        unit, whole = bench.unit, bench.size // bench.unit
        size = unit * random.choice([1, random.randint(1, 40), whole, random.randint(1, READ)])
        bench.issue(unit * random.randrange(4096 // unit), size)
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_part_behind_every_filling(dut):
    """A read of less than a beat, then one that does not fill it, or fills it, or the next one."""
    bench = await PackerBench(dut).begin()
    lanes, unit = bench.size // bench.unit, bench.unit
    for fill in range(lanes):
        for count in random.sample(range(1, lanes + 1), min(lanes, 16)):
            bench.issue(READ - unit * fill, unit * (fill + count))
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def data_may_begin_at_any_unit(dut):
    """``first`` changes when nothing is inside."""
    bench = await PackerBench(dut).begin()
    for first in range(0, bench.size, bench.unit):
        dut.first.value = first // bench.unit
        await ClockCycles(dut.clk, 4)
        for _ in range(3):
            bench.issue(0, bench.unit * random.choice([1, random.randint(1, 40)]), first=first)
        await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_part_a_cycle(dut):
    """Requests of one read leave as they come; one whose end fills two beats takes a cycle more."""
    bench = await PackerBench(dut).begin()
    for _ in range(40):
        bench.issue(0, READ, [Cause.NONE])
    await bench.finish()
    assert bench.beats.cycles[0] - bench.parts.cycles[0] == BeatPacker.latency
    assert bench.beats.cycles[-1] - bench.beats.cycles[0] == len(bench.required) - 1
    before = len(bench.beats.beats)
    for _ in range(20):  # 3 dwords, then a beat but one: two beats of what came in two
        bench.issue(READ - 12, 12 + bench.size - 4, [Cause.NONE])
    await bench.finish()
    cycles = bench.beats.cycles[before:]
    assert cycles[-1] - cycles[0] == 3 * 20 - 2
