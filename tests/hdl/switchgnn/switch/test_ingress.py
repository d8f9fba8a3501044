"""Sends to all ports at once, holds them back at random, and takes payloads at random."""

import random
from collections import Counter
from itertools import permutations

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.switch.frame_filter import Quality
from hdl.switchgnn.switch.ingress import UNSEEN, GnnIngress
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.streams import STALLS, Sink, cycle, never, often, rarely, start
from sim.harness.verilator import params_in_simulator
from sim.switchgnn.golden.frames import Kind
from tests.hdl.switchgnn.switch.arrivals import (
    agrees,
    beats_of,
    expected,
    good_packet,
    packet_of,
    some_packet,
)
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, jobs=2, lanes=2, window=4, tasks=16, ingress_depth=16),
    GnnSwitchParams(ports=4, jobs=2, lanes=32, window=32, tasks=16, ingress_depth=64),
    GnnSwitchParams(ports=3, jobs=2, lanes=128, window=128, tasks=32, ingress_depth=64),
]
BEAT = ("tdata", "tkeep", "tlast", "tuser")
BEHIND = 2  # beats of a port that wait in registers behind its queue

test_gnn_ingress = simulated(GnnIngress, SIZES, __name__, ids=lambda params: f"{params.lanes}")


class Bench:
    """Sends packets to all ports and looks at what is taken of them."""

    def __init__(self, dut, *, hold=never, payloads=never):
        self.dut, self.edge, self.hold = dut, RisingEdge(dut.clk), hold
        self.params = params_in_simulator(GnnSwitchParams)
        ports = range(self.params.ports)
        self.address = random.randbytes(6)
        dut.address.value = int.from_bytes(self.address, "little")
        dut.mark_level.value = dut.hold.value = 0
        self.pins = [[getattr(dut, f"axis_{k}_{name}") for name in BEAT] for k in ports]
        self.valid = [getattr(dut, f"axis_{k}_tvalid") for k in ports]
        self.ready = [getattr(dut, f"axis_{k}_tready") for k in ports]
        for valid in self.valid:
            valid.value = 0
        self.sent = [[] for _ in ports]
        self.found = [[] for _ in ports]
        self.came, self.brought, self.ends = [], [], []  # cycles; who brings; last beats
        self.senders = []  # ports, in the order of what came
        self.overflows = Counter()
        self.payloads = Sink(dut, "payloads", stall=payloads)

    async def start(self):
        cocotb.start_soon(self.watch())
        await start(self.dut)
        await ClockCycles(self.dut.clk, 2)
        return self

    async def watch(self):
        dut, held = self.dut, True
        while True:
            hold = bool(self.hold())
            dut.hold.value = int(hold)
            await self.edge
            if dut.rst.value:
                continue
            assert all(ready.value for ready in self.ready)
            for k in range(self.params.ports):
                self.overflows[k] += int(dut.overflows.value) >> k & 1
            if dut.valid.value:
                assert not held
                port = int(dut.sender.value).bit_length() - 1
                assert int(dut.sender.value) == 1 << port
                packet = packet_of(self.params, int(dut.packet.value))
                packet["brings"] = int(dut.brings.value)
                self.came.append(cycle())
                self.senders.append(port)
                self.found[port].append(packet)
                if packet["brings"]:
                    self.brought.append((port, len(self.found[port]) - 1))
            else:
                assert not dut.brings.value
            held = hold

    async def send(self, port, packets, stall=never):
        for packet in packets:
            for beat in packet.beats():
                while stall():
                    await self.edge
                self.valid[port].value = 1
                for pin, value in zip(self.pins[port], beat, strict=True):
                    pin.value = value
                await self.edge
                self.valid[port].value = 0
            self.sent[port].append(packet)
            self.ends.append(cycle())

    async def send_all(self, packets, stall=never):
        """Send the packets of each port, at once."""
        tasks = [cocotb.start_soon(self.send(k, own, stall)) for k, own in enumerate(packets)]
        for task in tasks:
            await task

    def some(self, port, *, good=False, kind=None):
        if good:
            return good_packet(self.params, self.address, 1 << port, kind)
        return some_packet(self.params, self.address, 1 << port)

    async def drain(self):
        """Nothing more comes."""
        quiet = 0
        while quiet < 80:
            await self.edge
            busy = self.dut.valid.value or self.dut.payloads_valid.value
            quiet = 0 if busy else quiet + 1

    async def finish(self):
        """What has come is what was sent, except for what was told to be lost."""
        self.hold = never
        await self.drain()
        matched = {}
        for port, (sent, found) in enumerate(zip(self.sent, self.found, strict=True)):
            golden = [expected(packet, self.params, self.address, 1 << port) for packet in sent]
            assert len(found) + self.overflows[port] == len(golden)
            if not self.overflows[port]:
                qualities = Counter(packet["quality"].name for packet in found)
                assert qualities == Counter(frame["quality"] for frame in golden)
            rest = iter([frame for frame in golden if frame["quality"] == "GOOD"])
            for k, packet in enumerate(found):
                if packet["quality"] is not Quality.GOOD:
                    assert not packet["brings"]
                    continue
                frame = next(rest)
                while self.overflows[port] and not agrees(packet, frame):
                    frame = next(rest)
                assert agrees(packet, frame), (port, k, packet, frame)
                matched[port, k] = frame
        payloads = [matched[place]["payload"] for place in self.brought]
        assert len(self.payloads.beats) == len(payloads)
        for found, golden in zip(self.payloads.beats, payloads, strict=True):
            assert beats_of(found, len(golden)) == golden


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, hold=[never, rarely, often])
async def any_packets_at_all_ports(dut, stalls, hold):
    source, sink = stalls
    bench = await Bench(dut, hold=hold, payloads=sink).start()
    packets = [[bench.some(k) for _ in range(150)] for k in range(bench.params.ports)]
    await bench.send_all(packets, source)
    await bench.finish()
    good = sum(packet["quality"] is Quality.GOOD for found in bench.found for packet in found)
    assert good > 20


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(kind=[Kind.FEATURE, Kind.PARTIAL, Kind.DONE])
async def one_port_never_waits(dut, kind):
    """Its frames follow each other as their beats do."""
    bench = await Bench(dut).start()
    port = random.randrange(bench.params.ports)
    packets = [bench.some(port, good=True, kind=kind) for _ in range(50)]
    await bench.send(port, packets)
    await bench.finish()
    beats = -(-len(packets[0].octets) // 64)
    assert bench.came[0] == bench.ends[0] + GnnIngress.latency
    assert bench.came == [bench.came[0] + k * beats for k in range(50)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_cycle_is_idle(dut):
    """With frames of one beat at all ports, one is taken per cycle, from each port in turn."""
    bench = await Bench(dut).start()
    ports = bench.params.ports
    packets = [[bench.some(k, good=True, kind=Kind.DONE) for _ in range(12)] for k in range(ports)]
    await bench.send_all(packets)
    await bench.finish()
    assert bench.came == [bench.came[0] + k for k in range(12 * ports)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_port_in_its_turn(dut):
    """Whose turn it is does not change while nobody has a frame."""
    bench = await Bench(dut).start()
    ports = bench.params.ports
    for last, other in permutations(range(ports), 2):
        behind = [(last + k) % ports for k in range(1, ports + 1)]
        for asking in ([last], [other, last], behind):
            own = [[bench.some(k, good=True, kind=Kind.DONE)] * (k in asking) for k in range(ports)]
            await bench.send_all(own)
            await ClockCycles(dut.clk, GnnIngress.latency + ports + 2)
            assert bench.senders[-len(asking) :] == asking
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def payloads_find_room(dut):
    """While nobody takes payloads, as many frames come as find room; later the others.

    One port has more of them than that; each port gets its turn.
    """
    stopped = [True]
    bench = await Bench(dut, payloads=lambda: stopped[0]).start()
    ports, tasks = bench.params.ports, bench.params.tasks
    for most in range(ports):
        counts = [tasks + 2 if k == most else 1 for k in range(ports)]
        packets = [
            [bench.some(k, good=True, kind=Kind.FEATURE) for _ in range(count)]
            for k, count in enumerate(counts)
        ]
        beats = len([*packets[most][0].beats()])
        await bench.send_all(packets)
        await ClockCycles(dut.clk, 30)
        waiting = len(bench.brought) - len(bench.payloads.beats)
        assert waiting == tasks - UNSEEN + UNSEEN // beats
        stopped[0] = False
        await bench.drain()
        stopped[0] = True
    stopped[0] = False
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_is_congested(dut):
    """It is while more beats wait than the level says; if that is 0, it never is."""
    held = [True]
    bench = await Bench(dut, hold=lambda: held[0]).start()
    for port in range(bench.params.ports):
        for count in range(1, bench.params.ingress_depth + 1):
            await bench.send(port, [bench.some(port, good=True, kind=Kind.DONE)])
            await ClockCycles(dut.clk, 8)
            waiting = max(0, count - BEHIND)
            near = range(max(0, waiting - 2), waiting + 2)
            for level in (0, *near, *(1 << bit for bit in range(16))):
                dut.mark_level.value = level
                await bench.edge
                assert int(dut.congested.value) == (0 < level < waiting) << port
        dut.mark_level.value = 1
        held[0] = False
        await bench.drain()
        assert not dut.congested.value
        held[0] = True
    await bench.finish()
