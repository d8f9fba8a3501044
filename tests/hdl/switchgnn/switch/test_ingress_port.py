"""Sends any packets to a port: good ones come in order, all others are counted, losses are told."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.switch.frame_filter import Quality
from hdl.switchgnn.switch.ingress_port import BAD_FRAMES, GnnIngressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.streams import STALLS, cycle, never, often, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.switch.arrivals import (
    Packet,
    agrees,
    arrival_of,
    beats_of,
    expected,
    good_packet,
    some_packet,
)
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, jobs=2, lanes=2, window=4, tasks=16, ingress_depth=16),
    GnnSwitchParams(ports=8, jobs=8, lanes=32, window=32, tasks=16, ingress_depth=64),
    GnnSwitchParams(ports=3, jobs=2, lanes=128, window=128, tasks=16, ingress_depth=64),
]
BEAT = ("tdata", "tkeep", "tlast", "tuser")

test_gnn_ingress_port = simulated(
    GnnIngressPort, SIZES, __name__, ids=lambda params: f"{params.lanes}"
)


class Bench:
    """Sends packets, takes arrivals and counts what is lost."""

    def __init__(self, dut, sink):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(GnnSwitchParams)
        self.address, self.bit = random.randbytes(6), 1 << random.randrange(32)
        dut.address.value = int.from_bytes(self.address, "little")
        dut.port_bit.value = self.bit
        dut.axis_tvalid.value = 0
        self.sent, self.ends, self.overflows = [], [], 0
        dut.arrivals_ready.value = 0
        self.sink, self.found, self.came = sink, [], []  # arrivals and their cycles

    async def start(self):
        cocotb.start_soon(self.count())
        cocotb.start_soon(self.take())
        await start(self.dut)
        await ClockCycles(self.dut.clk, 2)
        return self

    async def count(self):
        while True:
            await self.edge
            if not self.dut.rst.value:
                self.overflows += int(self.dut.overflow.value)

    async def take(self):
        """Take arrivals; one that waits stays as it is, as far as its bits mean anything."""
        dut, waiting = self.dut, None
        while True:
            dut.arrivals_ready.value = ready = int(not self.sink())
            await self.edge
            if not dut.arrivals_valid.value:
                assert waiting is None
                continue
            found = arrival_of(self.params, int(dut.arrivals_payload.value))
            if found[0]["quality"] is not Quality.GOOD:
                found = found[0], None
            assert waiting in (None, found)
            waiting = None if ready else found
            if ready:
                self.found.append(found)
                self.came.append(cycle())

    async def send(self, packets, stall=never):
        dut = self.dut
        for packet in packets:
            for beat in packet.beats():
                while stall():
                    dut.axis_tdata.value = random.getrandbits(512)
                    await self.edge
                dut.axis_tvalid.value = 1
                for name, value in zip(BEAT, beat, strict=True):
                    getattr(dut, f"axis_{name}").value = value
                await self.edge
                assert dut.axis_tready.value
                dut.axis_tvalid.value = 0
            self.sent.append(packet)
            self.ends.append(cycle())

    async def finish(self, *, lost=False):
        """All that was sent came, in order; broken packets may come in between."""
        quiet = 0
        while quiet < 60:
            await self.edge
            quiet = 0 if self.dut.arrivals_valid.value else quiet + 1
        params = self.params
        golden = [expected(packet, params, self.address, self.bit) for packet in self.sent]
        found = self.found
        if not lost:
            assert self.overflows == 0
            qualities = Counter(packet["quality"].name for packet, _ in found)
            assert qualities == Counter(frame["quality"] for frame in golden)
        assert len(found) + self.overflows == len(golden)
        rest = iter([frame for frame in golden if frame["quality"] == "GOOD"])
        for packet, payload in found:
            assert not packet["brings"] or packet["quality"] is Quality.GOOD
            if packet["quality"] is not Quality.GOOD:
                continue
            frame = next(rest)
            while lost and not same(packet, payload, frame):
                frame = next(rest)
            assert same(packet, payload, frame), (packet, frame)
        assert self.dut.used.value == 0
        return golden


def count(packet):
    """Return the beats of a packet."""
    return -(-len(packet.octets) // BEAT_BYTES)


def same(packet, payload, golden):
    whole = golden.get("payload", [])
    return agrees(packet, golden) and beats_of(payload, len(whole)) == whole


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def any_packet(dut, stalls):
    """With more room than packets, each comes, with its quality."""
    source, sink = stalls
    bench = await Bench(dut, sink).start()
    for _ in range(80):
        packets = [some_packet(bench.params, bench.address, bench.bit) for _ in range(4)]
        await bench.send(packets, source)
        while not stalls.none and (int(dut.used.value) or dut.arrivals_valid.value):
            await bench.edge
    golden = await bench.finish()
    assert {frame["quality"] for frame in golden} == set(Quality.__members__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_the_link(dut):
    """Frames arrive as their last beats do, all of one length or mixed."""
    bench = await Bench(dut, never).start()
    packets = [good_packet(bench.params, bench.address, bench.bit) for _ in range(60)]
    packets.sort(key=lambda packet: len(packet.octets))
    packets += [good_packet(bench.params, bench.address, bench.bit) for _ in range(60)]
    await bench.send(packets)
    await bench.finish()
    for end, came in zip(bench.ends, bench.came, strict=True):
        assert came - end == GnnIngressPort.latency


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latency(dut):
    bench = await Bench(dut, never).start()
    for _ in range(20):
        packet = good_packet(bench.params, bench.address, bench.bit)
        await bench.send([packet])
        await ClockCycles(dut.clk, 30)
    await bench.finish()
    for end, came in zip(bench.ends, bench.came, strict=True):
        assert came - end == GnnIngressPort.latency


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def tells_what_it_loses(dut):
    """While nothing is taken both queues run over, and what has come stays."""
    taking = [False]
    bench = await Bench(dut, lambda: not taking[0]).start()
    params = bench.params
    broken = [Packet(random.randbytes(64), corrupt=True) for _ in range(40)]
    await bench.send(broken)
    await ClockCycles(dut.clk, 5)
    assert bench.overflows == 40 - BAD_FRAMES.depth - 2
    frames = [good_packet(params, bench.address, bench.bit) for _ in range(params.ingress_depth)]
    assert sum(map(count, frames)) > params.ingress_depth
    await bench.send(frames)
    await ClockCycles(dut.clk, 5)
    lost = bench.overflows - (40 - BAD_FRAMES.depth - 2)
    assert lost > 0
    assert int(dut.used.value) > params.ingress_depth - params.frames.beats - 4
    taking[0] = True
    await bench.finish(lost=True)
    taking[0] = False
    await bench.send(some_packet(params, bench.address, bench.bit) for _ in range(200))
    taking[0] = True
    await bench.send([good_packet(params, bench.address, bench.bit) for _ in range(20)], often)
    await bench.finish(lost=True)
