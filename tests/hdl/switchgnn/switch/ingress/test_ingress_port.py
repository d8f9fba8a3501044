"""Sends any packets to a port: good ones come in order, all others are counted, losses are told."""

import random
from collections import Counter
from itertools import accumulate

import cocotb

from hdl.common.packets import BEAT_BYTES
from hdl.switch.frame_filter import Quality
from hdl.switchgnn.switch.ingress.ingress_port import BAD_FRAMES, GnnIngressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.bench import Bench
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Sink, always, crossed, edges, never, often
from tests.hdl.switchgnn.switch.ingress.arrivals import (
    Packet,
    agrees,
    arrival_of,
    expected,
    good_packet,
    payload_beats,
    some_packet,
)
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, jobs=2, lanes=2, window=4, tasks=16, ingress_depth=16),
    GnnSwitchParams(ports=8, jobs=8, lanes=32, window=32, tasks=16, ingress_depth=64),
    GnnSwitchParams(ports=3, jobs=2, lanes=128, window=128, tasks=16, ingress_depth=64),
]

test_gnn_ingress_port = simulated(
    GnnIngressPort, SIZES, __name__, ids=lambda params: f"{params.lanes}"
)


class PortBench(Bench):
    """Sends packets, takes arrivals and counts what is lost."""

    def __init__(self, dut, source=never, sink=never):
        super().__init__(dut, (source, sink))
        self.address, self.bit = random.randbytes(6), 1 << random.randrange(32)
        self.set(address=int.from_bytes(self.address, "little"), port_bit=self.bit)
        self.sent = []
        self.ready, self.lost = self.record("", "axis_tready"), self.record("overflow")
        self.arrivals = Sink(dut, "arrivals", stall=sink, shape=self.params.arrival.size)
        self.arrivals.let_go()
        shown = dict.fromkeys(("arrivals_payload", "arrivals_ready"))
        self.shown = Recorder(dut, "arrivals_valid", shown)

    async def begin(self):
        await super().begin()
        await self.wait(2)
        return self

    @property
    def overflows(self):
        return len(self.lost.cycles)

    async def send(self, packets):
        packets = [*packets]
        self.sent += packets
        await self.axis.send_all(beat for packet in packets for beat in packet.beats())

    async def finish(self, *, lost=False):
        """All that was sent came, in order; broken packets may come in between."""
        came = None
        while came != (came := len(self.arrivals.beats)):
            await edges(self.dut.clk, 60)
        params = self.params
        golden = [expected(packet, params, self.address, self.bit) for packet in self.sent]
        result = [*self.result()]
        if not lost:
            assert self.overflows == 0
            qualities = Counter(packet["quality"].name for packet, _ in result)
            assert qualities == Counter(frame["quality"] for frame in golden)
        assert len(result) + self.overflows == len(golden)
        rest = iter([frame for frame in golden if frame["quality"] == "GOOD"])
        for packet, payload in result:
            assert not packet["brings"] or packet["quality"] is Quality.GOOD
            if packet["quality"] is not Quality.GOOD:
                continue
            frame = next(rest)
            while lost and not same(packet, payload, frame):
                frame = next(rest)
            assert same(packet, payload, frame), (packet, frame)
        assert self.dut.used.value == 0
        assert all(cycle["axis_tready"] for cycle in self.ready.beats)
        return golden

    def result(self):
        """Yield arrivals; one that waits stays as it is, as far as its bits mean anything."""
        waiting = last = None
        for cycle, item in zip(self.shown.cycles, self.shown.beats, strict=True):
            bits, ready = (item[f"arrivals_{name}"] for name in ("payload", "ready"))
            result = arrival_of(self.params, bits)
            if result[0]["quality"] is not Quality.GOOD:
                result = result[0], None
            assert waiting is None or (waiting, last + 1) == (result, cycle)
            waiting, last = None if ready else result, cycle
            if ready:
                yield result

    def waits(self):
        """Return how many cycles each arrival comes after the last beat of its packet."""
        ends = [k - 1 for k in accumulate(map(count, self.sent))]
        came = zip(ends, self.arrivals.cycles, strict=True)
        return {cycle - self.axis.cycles[end] for end, cycle in came}


def count(packet):
    """Return the beats of a packet."""
    return -(-len(packet.octets) // BEAT_BYTES)


def same(packet, payload, golden):
    whole = golden.get("payload", [])
    return agrees(packet, golden) and payload_beats(payload, len(whole)) == whole


@crossed(stalls=STALLS)
async def any_packet(dut, stalls):
    """With more room than packets, each comes, with its quality."""
    bench = await PortBench(dut, *stalls).begin()
    for _ in range(80):
        packets = [some_packet(bench.params, bench.address, bench.bit) for _ in range(4)]
        await bench.send(packets)
        while not stalls.absent and (int(dut.used.value) or dut.arrivals_valid.value):
            await edges(dut.clk, 1)
    golden = await bench.finish()
    assert {frame["quality"] for frame in golden} == set(Quality.__members__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_the_link(dut):
    """Frames arrive as their last beats do, all of one length or mixed."""
    bench = await PortBench(dut).begin()
    packets = [good_packet(bench.params, bench.address, bench.bit) for _ in range(60)]
    packets.sort(key=lambda packet: len(packet.octets))
    packets += [good_packet(bench.params, bench.address, bench.bit) for _ in range(60)]
    await bench.send(packets)
    await bench.finish()
    assert bench.waits() == {GnnIngressPort.latency}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latency(dut):
    bench = await PortBench(dut).begin()
    for _ in range(20):
        packet = good_packet(bench.params, bench.address, bench.bit)
        await bench.send([packet])
        await edges(dut.clk, 30)
    await bench.finish()
    assert bench.waits() == {GnnIngressPort.latency}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reports_what_it_loses(dut):
    """While nothing is taken both queues run over, and what has come stays."""
    bench = await PortBench(dut, sink=always).begin()
    params = bench.params
    broken = [Packet(random.randbytes(64), corrupt=True) for _ in range(40)]
    await bench.send(broken)
    await edges(dut.clk, 5)
    assert bench.overflows == 40 - BAD_FRAMES.depth - 2
    frames = [good_packet(params, bench.address, bench.bit) for _ in range(params.ingress_depth)]
    assert sum(map(count, frames)) > params.ingress_depth
    await bench.send(frames)
    await edges(dut.clk, 5)
    lost = bench.overflows - (40 - BAD_FRAMES.depth - 2)
    assert lost > 0
    assert int(dut.used.value) > params.ingress_depth - params.frames.beats - 4
    bench.arrivals.stall = never
    await bench.finish(lost=True)
    bench.arrivals.stall = always
    await bench.send(some_packet(params, bench.address, bench.bit) for _ in range(200))
    bench.arrivals.stall, bench.axis.stall = never, often
    await bench.send(good_packet(params, bench.address, bench.bit) for _ in range(20))
    await bench.finish(lost=True)
