"""Compares the token bucket with one of whole numbers, in every cycle."""

import random

import cocotb
from cocotb.triggers import FallingEdge

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_pace import ReadPace
from sim.harness.bench import Bench
from tests.simulated import simulated

SIZES = [
    ReadRequesterParams(tags=16, max_read=4096),
    ReadRequesterParams(data_bits=256, tags=16, max_read=128),
]
STORED = 16  #: beats of data that are saved

test_read_pace = simulated(ReadPace, SIZES, __name__)


class Bucket:
    """Counts tokens, each 1/256 of a beat of this many bytes; what is sent costs a cycle later."""

    def __init__(self, beat_bytes):
        self.beat_bytes = beat_bytes
        self.tokens = self.owed = 0

    def tick(self, share, went):
        """Play one cycle in which a read of ``went`` bytes is sent, or none."""
        comes = share if self.tokens < 256 * STORED else 0
        self.tokens = self.tokens + comes - self.owed if share else 0
        self.owed = 256 * went // self.beat_bytes


SHARES = [1, 255, 37, 128, 0, 90, 255, 2, 0, 200, 4, 64, 25]


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(eager=[1, 0.3, 0.03])
async def reads_go_while_tokens_are_there(dut, eager):
    """Reads of all sizes are sent at shares that change, and pauses long enough to save up."""
    bench = await Bench(dut).begin()
    params = bench.params
    bucket = Bucket(params.data_bits // 8)
    for share in SHARES:
        needs, most = eager, random.choice([8, 64, params.max_read])
        for number in range(400):
            await FallingEdge(dut.clk)
            assert dut.may_go.value == (bucket.tokens >= 0), (share, number, bucket.tokens)
            if number % 50 == 0:
                needs = random.choice([0, eager])
            goes = bucket.tokens >= 0 and random.random() < needs
            size = random.randint(1, most)
            dut.share.value, dut.goes.value, dut.bytes.value = share, goes, size
            bucket.tick(share, size if goes else 0)
