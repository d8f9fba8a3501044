"""Sends packets of any length and quality over a link to a port, which keeps them whole or not."""

import random
from collections import Counter
from functools import partial
from itertools import pairwise

import cocotb
from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.component import Component
from hdl.switch.frame_filter import Quality, word_layout
from hdl.switch.packet_port import PacketPort, PacketPortParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, cycle, never, often, rarely, start
from sim.harness.verilator import simulate
from sim.surroundings.link import ALWAYS, COUNTERS, Link, LinkParams
from tests.hdl.switch.frames import BEAT_BYTES, FRAMES, LEAST, MOST, Packet, frame, judge
from tests.hdl.switch.frames import some_packet as any_packet
from tests.rejects import rejects

PARAMS = PacketPortParams(frames=FRAMES, words=16, style="distributed")
LINK = LinkParams(depth=64, holds=8, beats=FRAMES.beats + 2, data_bits=FRAMES.data_bits)
WORD = word_layout(FRAMES)
BEAT = ("tdata", "tkeep", "tlast", "tuser")


class LinkedPort(Component):
    """A link that leads into a port; ``wire_*`` show what is between them."""

    def __init__(self, params=None):
        super().__init__(
            params,
            {
                "i": In(FRAMES.axis),
                "settings": In(LINK.settings),
                "address": In(48),
                "packets": Out(stream.Signature(WORD)),
                "judged": Out(1),
                "quality": Out(Quality),
                "lost": Out(1),
                "used": Out(len(PacketPort(PARAMS).used)),
                "wire_tvalid": Out(1),
                **{f"wire_{n}": Out(len(getattr(FRAMES.axis.create(), n))) for n in BEAT},
                **{name: Out(32) for name in COUNTERS},
            },
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.link = link = Link(LINK)
        m.submodules.port = port = PacketPort(PARAMS)
        connect(m, flipped(self.i), link.i)
        connect(m, link.o, port.axis)
        connect(m, port.packets, flipped(self.packets))
        m.d.comb += [link.settings.eq(self.settings), port.address.eq(self.address)]
        shown = ("judged", "quality", "lost", "used")
        m.d.comb += [getattr(self, name).eq(getattr(port, name)) for name in shown]
        m.d.comb += [getattr(self, name).eq(getattr(link, name)) for name in COUNTERS]
        for name in (*BEAT, "tvalid"):
            m.d.comb += getattr(self, f"wire_{name}").eq(getattr(link.o, name))
        return m


def test_packet_port():
    simulate(LinkedPort(), __name__)


test_rejects = rejects(
    partial(PacketPortParams, frames=FRAMES, words=16),
    ({"words": 24}, "words must be a power of two from 16 to 65536: 24"),
    ({"style": "lead"}, "style must be one of auto, distributed, block, ultra: 'lead'"),
)


class Bench:
    """Sends packets into the link, and compares what leaves the port with what the link brought."""

    def __init__(self, dut, sink):
        self.dut, self.edge, self.sink = dut, RisingEdge(dut.clk), sink
        self.address = random.randbytes(6)
        self.wire, self.coming = [], []  # packets that came to the port; the beats of the next
        self.verdicts = []  # quality and whether it was lost
        self.left, self.leaving = [], b""  # frames that left
        self.came_at, self.left_at = [], []  # last beat of a packet; first one of a frame
        dut.i_tvalid.value = 0
        dut.address.value = int.from_bytes(self.address, "little")
        self.set()

    def set(self, **settings):
        defaults = {"seed": random.getrandbits(32), "latency": 0, "displacement": 20}
        self.dut.settings.value = pack(LINK.settings, defaults | settings)

    async def run(self):
        """Check every cycle."""
        dut, waiting = self.dut, None
        while True:
            dut.packets_ready.value = int(not self.sink())
            await self.edge
            if dut.rst.value:
                self.coming, self.leaving, waiting = [], b"", None
                continue
            if dut.wire_tvalid.value:
                self.coming.append(tuple(int(getattr(dut, f"wire_{n}").value) for n in BEAT))
                if self.coming[-1][2]:
                    self.wire.append(self.coming)
                    self.came_at.append(cycle())
                    self.coming = []
            if dut.judged.value:
                quality = Quality(int(dut.quality.value)).name
                self.verdicts.append((quality, bool(dut.lost.value)))
            else:
                assert not dut.lost.value
            if not dut.packets_valid.value:
                assert waiting is None
                continue
            word = unpack(WORD, int(dut.packets_payload.value))
            assert waiting in (None, word)
            waiting = word
            if not self.leaving and dut.packets_ready.value:
                self.left_at.append(cycle())
            if dut.packets_ready.value:
                waiting = None
                count = word["keep"].bit_count()
                assert word["keep"] == (1 << count) - 1
                self.leaving += word["data"].to_bytes(BEAT_BYTES, "little")[:count]
                if word["last"]:
                    self.left.append(self.leaving)
                    self.leaving = b""

    async def send(self, packets, stall=never):
        for beat in (beat for packet in packets for beat in packet.beats):
            await self.beat(beat, stall)

    async def beat(self, beat, stall=never):
        dut = self.dut
        while stall():
            dut.i_tdata.value = random.getrandbits(FRAMES.data_bits)
            await self.edge
        dut.i_tvalid.value = 1
        for name, value in zip(BEAT, beat, strict=True):
            getattr(dut, f"i_{name}").value = value
        await self.edge
        while not dut.i_tready.value:
            await self.edge
        dut.i_tvalid.value = 0

    async def drain(self):
        """Wait until nothing moves; then everything is where it belongs."""
        sink, self.sink = self.sink, never
        quiet = 0
        while quiet < 200:
            await self.edge
            busy = self.dut.wire_tvalid.value or self.dut.packets_valid.value
            quiet = 0 if busy else quiet + 1
        self.sink = sink
        golden = [judge(packet, self.address) for packet in self.wire]
        assert [quality for quality, _ in self.verdicts] == [quality for quality, _ in golden]
        kept = [
            octets
            for (quality, octets), (_, lost) in zip(golden, self.verdicts, strict=True)
            if quality == "GOOD" and not lost
        ]
        assert all(quality == "GOOD" for quality, lost in self.verdicts if lost)
        assert not self.leaving
        assert self.left == kept
        return Counter(self.verdicts)


async def begin(dut, sink=never):
    bench = Bench(dut, sink)
    cocotb.start_soon(bench.run())
    await start(dut)
    await ClockCycles(dut.clk, 2)  # until there is room
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def keeps_good_frames(dut, stalls):
    """It keeps every good frame and nothing of others; what is lost is lost for lack of room."""
    source, sink = stalls
    bench = await begin(dut, sink)
    packets = [any_packet(bench.address) for _ in range(3000)]
    await bench.send(packets, source)
    found = await bench.drain()
    assert bench.wire == [packet.beats for packet in packets]
    assert min(found[quality.name, False] for quality in Quality) > 100
    assert sink is not never or not found["GOOD", True]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_length(dut):
    """Frames of every length go back to back, the longest between those too long or too short."""
    bench = await begin(dut)
    for length in range(1, 140):
        packets = [Packet((frame(bench.address, 160))[:length])]
        packets += [Packet(frame(bench.address, random.choice((LEAST, MOST))))]
        await bench.send(packets)
    found = await bench.drain()
    assert found == {("GOOD", False): 139 + MOST - LEAST + 1, ("MALFORMED", False): 96}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latency(dut):
    bench = await begin(dut)
    for length in (LEAST, 40, MOST):
        await bench.send([Packet(frame(bench.address, length))])
        for _ in range(10):
            await bench.edge
    await bench.drain()
    waits = [b - a for a, b in zip(bench.came_at, bench.left_at, strict=True)]
    assert waits == [PacketPort.latency] * 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def loses_whole_frames_when_full(dut):
    """What is inside stays; behind it frames are lost until there is room again."""
    bench = await begin(dut)
    bench.sink = lambda: True
    longest = [Packet(frame(bench.address, MOST)) for _ in range(12)]
    await bench.send(longest)
    kept = PARAMS.buffer.most_packet_words // FRAMES.beats
    for _ in range(5):
        await bench.edge
    assert [lost for _, lost in bench.verdicts][:kept] == [False] * kept
    assert bench.verdicts[-1] == ("GOOD", True)
    found = await bench.drain()
    assert found["GOOD", True] >= 12 - PARAMS.words // FRAMES.beats - 1
    bench.sink = never
    await bench.send([Packet(frame(bench.address, MOST)) for _ in range(20)])
    assert (await bench.drain())["GOOD", True] == found["GOOD", True]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def says_how_many_beats_wait(dut):
    """Frames have a beat each, and the count follows every one that comes or leaves."""
    bench = await begin(dut)
    bench.sink = lambda: True
    seen = [int(dut.used.value)]
    for _ in range(12):
        await bench.send([Packet(frame(bench.address, LEAST))])
        await ClockCycles(dut.clk, 12)
        seen.append(int(dut.used.value))
    ahead = 12 - seen[-1]  # at the output
    assert seen == [max(0, count - ahead) for count in range(13)]
    assert ahead <= 2
    found = await bench.drain()
    assert found == {("GOOD", False): 12}
    assert not dut.used.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_leaves_no_rest(dut):
    """The rest of a packet is no frame, though it were as long as one; what follows is good."""
    bench = await begin(dut)
    for length in (40, 64, 65, MOST):
        beats = Packet(frame(bench.address, length)).beats
        for at in range(1, len(beats)):
            for beat in beats[:at]:
                await bench.beat(beat, rarely)
            dut.rst.value = 1
            await bench.edge
            dut.rst.value = 0
            await bench.edge
            before = len(bench.verdicts)
            for beat in beats[at:]:
                await bench.beat(beat, rarely)
            good = frame(bench.address, LEAST)
            await bench.send([Packet(good)])
            for _ in range(10):
                await bench.edge
            assert bench.verdicts[before:] == [("MALFORMED", False), ("GOOD", False)]
            assert bench.left[-1] == good
            assert len(bench.left) == len(set(bench.left))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(sink=[never, rarely, often])
async def behind_a_bad_link(dut, sink):
    """Packets of several beats are lost, doubled, late and broken as a whole."""
    bench = await begin(dut, sink)
    kinds = ("drop", "duplicate", "reorder", "corrupt")
    bench.set(latency=9, **dict.fromkeys(kinds, ALWAYS // 5))
    sent = [frame(bench.address, random.randint(LEAST, MOST)) for _ in range(1500)]
    await bench.send([Packet(octets) for octets in sent], rarely)
    found = await bench.drain()
    counts = {name: int(getattr(dut, name).value) for name in COUNTERS}
    assert counts["sent"] == len(sent)
    assert len(bench.wire) == counts["delivered"]
    assert counts["sent"] + counts["duplicated"] - counts["dropped"] == counts["delivered"]
    assert found["CORRUPT", False] == counts["corrupted"]
    assert found["GOOD", False] + found["GOOD", True] == counts["delivered"] - counts["corrupted"]
    assert min(counts.values()) > 100
    copies = Counter(bench.left)
    assert copies.keys() <= set(sent)
    assert max(copies.values()) == 2
    places = [sent.index(octets) for octets in bench.left]
    assert any(a > b for a, b in pairwise(places))
