"""Tests how other traffic shares a link; `tests/hdl/switchgnn/test_congestion.py` has its flows."""

import random

import cocotb

from sim.harness.axi_streams import PacketSink, beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, never
from sim.harness.verilator import simulate
from sim.switchgnn.network.background import Background, BackgroundParams

INDEX, FRAME = 5, 24


def test_background():
    simulate(Background(BackgroundParams()), __name__)


class BackgroundBench(Bench):
    """Sends packets through a link that others use, with this load in flows of this length."""

    def __init__(self, dut, load, *stalls, frames=3):
        super().__init__(dut, stalls or (never, never), index=INDEX)
        self.fields = self.params.fields(load, frames=frames, seed=random.getrandbits(32))
        self.set(settings=self.fields)
        self.o = PacketSink(dut, "o", stall=self.sink_stall)

    async def send(self, sizes):
        """Send packets of these numbers of beats; all come out as they were."""
        packets = [random.randbytes(64 * size) for size in sizes]
        await self.i.send_all(beat for packet in packets for beat in beats_of(packet))
        for _ in range(40):
            await self.edge
        assert [packet.octets for packet in self.o.packets[-len(packets) :]] == packets


@crossed(stalls=STALLS)
async def packets_pass_unchanged(dut, stalls):
    bench = await BackgroundBench(dut, 0.4, *stalls).begin()
    await bench.send([random.choice((1, 2, 3, 9)) for _ in range(200)])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def who_waits_gets_half_of_the_beats(dut):
    bench = await BackgroundBench(dut, 0.9, frames=200).begin()
    while not int(dut.sent.value):
        await bench.edge
    before = int(dut.sent.value)
    sizes = [random.choice((2, 3, 9)) for _ in range(300)]
    packets = [packet for size in sizes for packet in beats_of(bytes(64 * size))]
    await bench.i.send_all(packets)
    assert abs(int(dut.sent.value) - before - len(packets)) <= 2 * FRAME + 9
