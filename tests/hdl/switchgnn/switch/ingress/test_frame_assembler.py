"""Assembles frames that have passed the filter, of any kind, length and content, at any pace."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.switch.ingress.frame_assembler import FrameAssembler
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, crossed
from sim.switchgnn.golden.frames import Kind, Quality
from tests.hdl.switchgnn.switch.ingress.arrivals import (
    agrees,
    arrival_of,
    every_zero_bit,
    expected,
    good_packet,
    nearly_good,
    payload_beats,
)
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, jobs=2, lanes=lanes, window=4, tasks=16, style="distributed")
    for lanes in (2, 16, 32, 128)
]

test_frame_assembler = simulated(
    FrameAssembler, SIZES, __name__, ids=lambda params: f"{params.lanes}"
)


def words(packet):
    """Return the beats as they leave the port's buffer."""
    names = ("data", "keep", "last")
    return [{name: beat[f"t{name}"] for name in names} for beat in packet.beats()]


class AssemblerBench(Bench):
    """Sends packets, and compares what they become."""

    def __init__(self, dut, *stalls):
        super().__init__(dut, *stalls)
        self.address, self.bit = random.randbytes(6), 1 << random.randrange(32)
        self.set(port_bit=self.bit)
        shape = self.params.arrival.size
        self.frames = Sink(dut, "frames", stall=self.sink_stall, shape=shape)

    async def judge(self, packets):
        """Send them all; return what is expected of them."""
        await self.begin()
        self.beats.extend([word for packet in packets for word in words(packet)])
        await self.frames.wait_for(len(packets))
        golden = [expected(packet, self.params, self.address, self.bit) for packet in packets]
        self.check(golden)
        return golden

    def check(self, golden):
        """Compare what has come with what was expected."""
        assert len(self.frames.beats) == len(golden)
        for k, (result, frame) in enumerate(zip(self.frames.beats, golden, strict=True)):
            packet, payload = arrival_of(self.params, result)
            assert agrees(packet, frame), (k, packet, frame)
            if frame["brings"]:
                golden_payload = frame["payload"]
                assert payload_beats(payload, len(golden_payload)) == golden_payload, k


@crossed(stalls=STALLS)
async def any_frame(dut, stalls):
    bench = AssemblerBench(dut, stalls)
    packets = [nearly_good(bench.params, bench.address, bench.bit) for _ in range(500)]
    golden = await bench.judge(packets)
    kinds = {frame["header"]["kind"].name for frame in golden if "header" in frame}
    assert kinds == {kind.name for kind in Kind}
    assert sum(frame["quality"] == Quality.MALFORMED.name for frame in golden) > 50


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_bit_that_is_zero(dut):
    bench = AssemblerBench(dut)
    packets = []
    for wrong in every_zero_bit(bench.params, bench.address, bench.bit):
        if wrong.octets[33] or wrong.octets[32] > 1:
            continue  # the filter sees that
        packets += [wrong, good_packet(bench.params, bench.address, bench.bit)]
    random.shuffle(packets)
    packets = packets[:1500]
    golden = await bench.judge(packets)
    assert 600 < sum(frame["quality"] == "GOOD" for frame in golden) < 900


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_a_cycle(dut):
    """A frame leaves in the cycle of its last beat, and no beat waits."""
    bench = AssemblerBench(dut)
    packets = [good_packet(bench.params, bench.address, bench.bit) for _ in range(100)]
    await bench.judge(packets)
    beats = [word for packet in packets for word in words(packet)]
    first = bench.beats.cycles[0]
    assert [*bench.beats.cycles] == [first + k for k in range(len(beats))]
    ends = [first + k for k, word in enumerate(beats) if word["last"]]
    assert [*bench.frames.cycles] == [end + FrameAssembler.latency for end in ends]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_that_is_undone_leaves_no_trace(dut):
    """It is told to be undone with one of its beats, or after it."""
    bench, golden = await AssemblerBench(dut).begin(), []
    for _ in range(100):
        packet = good_packet(bench.params, bench.address, bench.bit)
        beats = words(packet)
        if len(beats) > 1 and random.random() < 0.5:
            *before, last = beats[: random.randrange(1, len(beats))]
            await bench.beats.send_all(before)
            behind = random.getrandbits(1)
            dut.undone.value = not behind
            await bench.beats.send_all([last])
            if behind:
                dut.undone.value = 1
                await RisingEdge(dut.clk)
            dut.undone.value = 0
        else:
            await bench.beats.send_all(beats)
            golden.append(expected(packet, bench.params, bench.address, bench.bit))
    bench.check(golden)
