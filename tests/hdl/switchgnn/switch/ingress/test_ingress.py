"""Sends to all ports at once, holds them back at random, and takes payloads at random."""

import random
from collections import Counter
from itertools import permutations

import cocotb

from hdl.switch.frame_filter import Quality
from hdl.switchgnn.switch.ingress.ingress import UNSEEN, GnnIngress
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.bench import Bench
from sim.harness.plays import play
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, always, crossed, edges, never, often, rarely
from sim.switchgnn.golden.frames import Kind
from tests.hdl.switchgnn.switch.ingress.arrivals import (
    agrees,
    expected,
    good_packet,
    packet_of,
    payload_beats,
    some_packet,
)
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, jobs=2, lanes=2, window=4, tasks=16, ingress_depth=16),
    GnnSwitchParams(ports=4, jobs=2, lanes=32, window=32, tasks=16, ingress_depth=64),
    GnnSwitchParams(ports=3, jobs=2, lanes=128, window=128, tasks=32, ingress_depth=64),
]
BEHIND = 2  # beats of a port that wait in registers behind its queue

test_gnn_ingress = simulated(GnnIngress, SIZES, __name__, ids=lambda params: f"{params.lanes}")


class IngressBench(Bench):
    """Sends packets to all ports and looks at what is taken of them."""

    def __init__(self, dut, *, source=never, payloads=never):
        super().__init__(dut, (source, payloads))
        ports = range(self.params.ports)
        self.address = random.randbytes(6)
        self.set(address=int.from_bytes(self.address, "little"))
        self.ready = self.record("", *(f"axis_{k}_tready" for k in ports))
        self.sent = [[] for _ in ports]
        self.taken = Recorder(dut, "valid", dict.fromkeys(("sender", "packet", "brings")))
        self.held, self.brings = self.record("hold"), self.record("brings")
        self.overflows = self.record("overflows", "overflows")

    async def begin(self):
        await super().begin()
        await self.wait(2)
        return self

    async def send(self, port, packets):
        self.sent[port] += packets
        await self.axis[port].send_all(beat for packet in packets for beat in packet.beats())

    async def send_all(self, packets):
        """Send the packets of each port, at once."""
        tasks = [cocotb.start_soon(self.send(k, own)) for k, own in enumerate(packets)]
        for task in tasks:
            await task

    def some(self, port, *, good=False, kind=None):
        if good:
            return good_packet(self.params, self.address, 1 << port, kind)
        return some_packet(self.params, self.address, 1 << port)

    async def drain(self):
        """Nothing more comes."""
        came = None
        while came != (came := (len(self.taken.beats), len(self.payloads.beats))):
            await edges(self.dut.clk, 80)

    def result(self):
        """Return what was taken, by port; none is in the cycle behind one in which they hold."""
        result, self.brought = [[] for _ in self.sent], []
        assert not {cycle + 1 for cycle in self.held.cycles} & set(self.taken.cycles)
        assert set(self.brings.cycles) <= set(self.taken.cycles)
        for item in self.taken.beats:
            packet = packet_of(self.params, item["packet"]) | {"brings": item["brings"]}
            port = item["sender"].bit_length() - 1
            assert item["sender"] == 1 << port
            result[port].append(packet)
            if packet["brings"]:
                self.brought.append((port, len(result[port]) - 1))
        return result

    async def finish(self):
        """What has come is what was sent, except for what was told to be lost."""
        self.dut.hold.value = 0
        await self.drain()
        assert all(all(cycle.values()) for cycle in self.ready.beats)
        matched, all_detected = {}, self.result()
        for port, (sent, result) in enumerate(zip(self.sent, all_detected, strict=True)):
            lost = sum(item["overflows"] >> port & 1 for item in self.overflows.beats)
            golden = [expected(packet, self.params, self.address, 1 << port) for packet in sent]
            assert len(result) + lost == len(golden)
            if not lost:
                qualities = Counter(packet["quality"].name for packet in result)
                assert qualities == Counter(frame["quality"] for frame in golden)
            rest = iter([frame for frame in golden if frame["quality"] == "GOOD"])
            for k, packet in enumerate(result):
                if packet["quality"] is not Quality.GOOD:
                    assert not packet["brings"]
                    continue
                frame = next(rest)
                while lost and not agrees(packet, frame):
                    frame = next(rest)
                assert agrees(packet, frame), (port, k, packet, frame)
                matched[port, k] = frame
        payloads = [matched[place]["payload"] for place in self.brought]
        assert len(self.payloads.beats) == len(payloads)
        for result, golden in zip(self.payloads.beats, payloads, strict=True):
            assert payload_beats(result, len(golden)) == golden


@crossed(stalls=STALLS, hold=[never, rarely, often])
async def any_packets_at_all_ports(dut, stalls, hold):
    source, sink = stalls
    bench = await IngressBench(dut, source=source, payloads=sink).begin()
    holding = cocotb.start_soon(play(dut, [{"hold": int(hold())} for _ in range(3000)]))
    packets = [[bench.some(k) for _ in range(150)] for k in range(bench.params.ports)]
    await bench.send_all(packets)
    await holding
    await bench.finish()
    good = sum(packet["quality"] is Quality.GOOD for result in bench.result() for packet in result)
    assert good > 20


@crossed(kind=[Kind.FEATURE, Kind.PARTIAL, Kind.DONE])
async def one_port_never_waits(dut, kind):
    """Its frames follow each other as their beats do."""
    bench = await IngressBench(dut).begin()
    port = random.randrange(bench.params.ports)
    packets = [bench.some(port, good=True, kind=kind) for _ in range(50)]
    await bench.send(port, packets)
    await bench.finish()
    beats = -(-len(packets[0].octets) // 64)
    first = bench.axis[port].cycles[beats - 1] + GnnIngress.latency
    assert bench.taken.cycles == [first + k * beats for k in range(50)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_cycle_is_idle(dut):
    """With frames of one beat at all ports, one is taken per cycle, from each port in turn."""
    bench = await IngressBench(dut).begin()
    ports = bench.params.ports
    packets = [[bench.some(k, good=True, kind=Kind.DONE) for _ in range(12)] for k in range(ports)]
    await bench.send_all(packets)
    await bench.finish()
    first = bench.taken.cycles[0]
    assert bench.taken.cycles == [first + k for k in range(12 * ports)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_port_in_its_turn(dut):
    """Whose turn it is does not change while nobody has a frame."""
    bench = await IngressBench(dut).begin()
    ports = bench.params.ports
    for last, other in permutations(range(ports), 2):
        behind = [(last + k) % ports for k in range(1, ports + 1)]
        for requesting in ([last], [other, last], behind):
            own = [
                [bench.some(k, good=True, kind=Kind.DONE)] * (k in requesting) for k in range(ports)
            ]
            await bench.send_all(own)
            await edges(dut.clk, GnnIngress.latency + ports + 2)
            senders = [item["sender"] for item in bench.taken.beats[-len(requesting) :]]
            assert senders == [1 << port for port in requesting]
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def payloads_find_room(dut):
    """While nobody takes payloads, as many frames come as find room; later the others.

    One port has more of them than that; each port gets its turn.
    """
    bench = await IngressBench(dut, payloads=always).begin()
    ports, tasks = bench.params.ports, bench.params.tasks
    for most in range(ports):
        counts = [tasks + 2 if k == most else 1 for k in range(ports)]
        packets = [
            [bench.some(k, good=True, kind=Kind.FEATURE) for _ in range(count)]
            for k, count in enumerate(counts)
        ]
        beats = len([*packets[most][0].beats()])
        await bench.send_all(packets)
        await edges(dut.clk, 30)
        waiting = len(bench.brings.cycles) - len(bench.payloads.beats)
        assert waiting == tasks - UNSEEN + UNSEEN // beats
        bench.payloads.stall = never
        await bench.drain()
        bench.payloads.stall = always
    bench.payloads.stall = never
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_port_is_congested(dut):
    """It is while more beats wait than the level says; if that is 0, it never is."""
    bench = await IngressBench(dut).begin()
    shown = Recorder(dut, "", dict.fromkeys(("mark_level", "congested")))
    dut.hold.value = 1
    for port in range(bench.params.ports):
        for count in range(1, bench.params.ingress_depth + 1):
            await bench.send(port, [bench.some(port, good=True, kind=Kind.DONE)])
            await edges(dut.clk, 8)
            waiting = max(0, count - BEHIND)
            near = range(max(0, waiting - 2), waiting + 2)
            levels = [0, *near, *(1 << bit for bit in range(16))]
            await play(dut, [{"mark_level": level} for level in levels])
            assert shown.beats[-len(levels) :] == [
                {"mark_level": level, "congested": (0 < level < waiting) << port}
                for level in levels
            ]
        dut.mark_level.value, dut.hold.value = 1, 0
        await bench.drain()
        assert not dut.congested.value
        dut.hold.value = 1
    await bench.finish()
