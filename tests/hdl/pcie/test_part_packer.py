"""Requests in parts of any length, packed into full beats, with causes and stalls."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.part_packer import PartPacker
from sim.golden.pcie_requester import Cause, cut
from sim.harness.streams import STALLS, Sink, Source, start
from sim.harness.verilator import params_in_simulator, simulate

SIZES = [
    ReadRequesterParams(max_read=256, user_bits=4),
    ReadRequesterParams(data_bits=256, max_read=128, user_bits=4),
]
REQUESTS = 150
CAUSES = [Cause.NONE] * 6 + [Cause.POISONED, Cause.UNSUPPORTED]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_part_packer(params):
    simulate(PartPacker(params), __name__)


def chunks(octets, size):
    """``octets`` in beats of ``size``, the last as short as it is."""
    return [octets[k : k + size] for k in range(0, len(octets), size)]


def beat(octets, size, **rest):
    """A beat of the stream: what is behind its bytes is random."""
    filled = octets + random.randbytes(size - len(octets))
    return {"data": int.from_bytes(filled, "little"), "bytes": len(octets), **rest}


class PackerBench:
    """Puts requests in, and knows what is to come of each."""

    def __init__(self, dut, stalls):
        self.params = params_in_simulator(ReadRequesterParams)
        self.size = self.params.data_bits // 8
        self.parts = Source(dut, "parts", stall=stalls[0])
        self.beats = Sink(dut, "beats", stall=stalls[1])
        self.dut, self.wanted = dut, []

    def ask(self, address, size, causes=CAUSES):
        """A request's parts: each of its reads begins a beat, and may have failed."""
        user = random.getrandbits(self.params.user_bits)
        pieces = [
            (random.randbytes(read.size), random.choice(causes))
            for read in cut(address, size, self.params.max_read)
        ]
        packed, found = b"", []
        for last, (octets, cause) in enumerate(pieces, 1 - len(pieces)):
            parts = chunks(octets, self.size)
            for end, part in enumerate(parts, 1 - len(parts)):
                self.parts.append(
                    beat(part, self.size, last=last == end == 0, user=user, cause=int(cause))
                )
            found.append((len(packed), cause))
            packed += octets
        for place, octets in enumerate(chunks(packed, self.size)):
            reached = min(place * self.size + self.size, size)
            causes = [cause for begin, cause in found if begin < reached and cause]
            cause = next(iter(causes), Cause.NONE)
            self.wanted.append((octets, reached == size, user, cause))

    async def finish(self):
        while len(self.beats.beats) < len(self.wanted):
            await RisingEdge(self.dut.clk)
        for _ in range(10):
            await RisingEdge(self.dut.clk)
        for found, (octets, last, user, cause) in zip(self.beats.beats, self.wanted, strict=True):
            assert found["bytes"] == len(octets)
            assert found["data"].to_bytes(self.size, "little")[: len(octets)] == octets
            assert (found["last"], found["user"]) == (last, user)
            assert Cause(int(found["cause"].value)) == cause


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def every_dword_in_its_place(dut, stalls):
    bench = PackerBench(dut, stalls.value)
    await start(dut)
    most = bench.params.max_read
    for _ in range(REQUESTS):
        size = 4 * random.choice(
            [1, random.randint(1, 40), bench.size // 4, random.randint(1, most)]
        )
        bench.ask(4 * random.randrange(1024), min(size, 4096))
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_part_a_cycle(dut):
    """Requests in one read leave as they come; one whose end fills two beats takes a cycle more."""
    bench = PackerBench(dut, (lambda: False, lambda: False))
    await start(dut)
    for _ in range(40):
        bench.ask(0, bench.params.max_read, [Cause.NONE])
    await bench.finish()
    assert bench.beats.cycles[0] - bench.parts.cycles[0] == PartPacker.latency
    assert bench.beats.cycles[-1] - bench.beats.cycles[0] == len(bench.wanted) - 1
    before = len(bench.beats.beats)
    for _ in range(20):  # 3 dwords, then a beat but one: two beats of what came in two
        bench.ask(bench.params.max_read - 12, 12 + bench.size - 4, [Cause.NONE])
    await bench.finish()
    cycles = bench.beats.cycles[before:]
    assert cycles[-1] - cycles[0] == 3 * 20 - 2
