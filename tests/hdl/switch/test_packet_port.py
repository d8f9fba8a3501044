"""Sends packets of any length and quality over a link to a port, which keeps them whole or not."""

import random
from collections import Counter
from itertools import pairwise

import cocotb
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.switch.frame_filter import Quality, word_layout
from hdl.switch.packet_port import PacketPort, PacketPortParams
from sim.harness.axi_streams import AxiMonitor, AxiSource
from sim.harness.payloads import pack
from sim.harness.records import Recorder
from sim.harness.streams import (
    STALLS,
    Sink,
    always,
    crossed,
    edges,
    never,
    often,
    rarely,
    start,
    strobe,
)
from sim.harness.verilator import simulate
from sim.surroundings.link import ALWAYS, COUNTERS, Link, LinkParams
from tests.hdl.switch.frames import BEAT_BYTES, FRAMES, LEAST, MOST, Packet, frame, judge
from tests.hdl.switch.frames import some_packet as any_packet

PARAMS = PacketPortParams(frames=FRAMES, words=16, style="distributed")
LINK = LinkParams(depth=64, holds=8, beats=FRAMES.beats + 2, data_bits=FRAMES.data_bits)
WORD = word_layout(FRAMES)
BEAT = ("tdata", "tkeep", "tlast", "tuser")


class LinkedPort(Component):
    """A link that leads into a port; ``wire_*`` show what is between them."""

    def __init__(self, params=None):
        super().__init__(
            params,
            i=In(FRAMES.axis),
            settings=In(LINK.settings),
            address=In(48),
            packets=Out(stream.Signature(WORD)),
            judged=Out(1),
            quality=Out(Quality),
            lost=Out(1),
            used=Out(len(PacketPort(PARAMS).used)),
            wire_tvalid=Out(1),
            **{f"wire_{n}": Out(len(getattr(FRAMES.axis.create(), n))) for n in BEAT},
            **{name: Out(32) for name in COUNTERS},
        )

    def build(self, m):
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


def test_packet_port():
    simulate(LinkedPort(), __name__)


class Bench:
    """Sends packets into the link, and compares what leaves the port with what the link brought."""

    def __init__(self, dut, source, sink):
        self.dut = dut
        self.address = random.randbytes(6)
        self.source = AxiSource(dut, "i", stall=source)
        self.wire = AxiMonitor(dut, "wire")
        self.judged = Recorder(dut, "judged", {"quality": Quality, "lost": None})
        self.lost = Recorder(dut, "lost", {})
        self.packets = Sink(dut, "packets", stall=sink)
        dut.address.value = int.from_bytes(self.address, "little")
        self.set()

    def set(self, **settings):
        defaults = {"seed": random.getrandbits(32), "latency": 0, "displacement": 20}
        self.dut.settings.value = pack(LINK.settings, defaults | settings)

    @property
    def verdicts(self):
        """Return the quality of each packet, and whether it was lost."""
        return [(item["quality"].name, bool(item["lost"])) for item in self.judged.beats]

    @property
    def left(self):
        """Return the frames that left."""
        frames = [b""]
        for word in self.packets.beats:
            count = word["keep"].bit_count()
            assert word["keep"] == (1 << count) - 1
            frames[-1] += word["data"].to_bytes(BEAT_BYTES, "little")[:count]
            if word["last"]:
                frames.append(b"")
        assert not frames.pop()
        return frames

    @property
    def came(self):
        """Return the packets that came to the port, each as its beats; none was cut."""
        packets = [[]]
        for beat in self.wire.beats:
            packets[-1].append(beat)
            if beat["tlast"]:
                packets.append([])
        assert not packets.pop()
        return packets

    async def send(self, packets):
        await self.source.send_all(beat for packet in packets for beat in packet.beats)

    async def drain(self):
        """Wait until nothing moves; then everything is where it belongs."""
        sink, self.packets.stall, moved = self.packets.stall, never, None
        while moved != (moved := (len(self.wire.beats), len(self.packets.beats))):
            await edges(self.dut.clk, 200)
        self.packets.stall = sink
        golden = [judge(packet, self.address) for packet in self.came]
        verdicts = self.verdicts
        assert [quality for quality, _ in verdicts] == [quality for quality, _ in golden]
        stored = [
            octets
            for (quality, octets), (_, lost) in zip(golden, verdicts, strict=True)
            if quality == "GOOD" and not lost
        ]
        assert all(quality == "GOOD" for quality, lost in verdicts if lost)
        assert set(self.lost.cycles) <= set(self.judged.cycles)
        assert self.left == stored
        return Counter(verdicts)


async def begin(dut, source=never, sink=never):
    bench = Bench(dut, source, sink)
    await start(dut)
    await edges(dut.clk, 2)  # until there is room
    return bench


@crossed(stalls=STALLS)
async def keeps_good_frames(dut, stalls):
    """It keeps every good frame and nothing of others; what is lost is lost for lack of room."""
    source, sink = stalls
    bench = await begin(dut, source, sink)
    packets = [any_packet(bench.address) for _ in range(3000)]
    await bench.send(packets)
    result = await bench.drain()
    assert bench.came == [packet.beats for packet in packets]
    assert min(result[quality.name, False] for quality in Quality) > 100
    assert sink is not never or not result["GOOD", True]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_length(dut):
    """Frames of every length go back to back, the longest between those too long or too short."""
    bench = await begin(dut)
    for length in range(1, 140):
        packets = [Packet((frame(bench.address, 160))[:length])]
        packets += [Packet(frame(bench.address, random.choice((LEAST, MOST))))]
        await bench.send(packets)
    result = await bench.drain()
    assert result == {("GOOD", False): 139 + MOST - LEAST + 1, ("MALFORMED", False): 96}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latency(dut):
    bench = await begin(dut)
    for length in (LEAST, 40, MOST):
        await bench.send([Packet(frame(bench.address, length))])
        await edges(dut.clk, 10)
    await bench.drain()
    ends = [k for k, beat in enumerate(bench.wire.beats) if beat["tlast"]]
    begins = [0, *(k + 1 for k, word in enumerate(bench.packets.beats) if word["last"])]
    waits = [
        bench.packets.cycles[b] - bench.wire.cycles[a] for a, b in zip(ends, begins, strict=False)
    ]
    assert waits == [PacketPort.latency] * 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def loses_whole_frames_when_full(dut):
    """What is inside stays; behind it frames are lost until there is room again."""
    bench = await begin(dut, sink=always)
    longest = [Packet(frame(bench.address, MOST)) for _ in range(12)]
    await bench.send(longest)
    stored = PARAMS.buffer.max_packet_words // FRAMES.beats
    await edges(dut.clk, 5)
    assert [lost for _, lost in bench.verdicts][:stored] == [False] * stored
    assert bench.verdicts[-1] == ("GOOD", True)
    result = await bench.drain()
    assert result["GOOD", True] >= 12 - PARAMS.words // FRAMES.beats - 1
    bench.packets.stall = never
    await bench.send([Packet(frame(bench.address, MOST)) for _ in range(20)])
    assert (await bench.drain())["GOOD", True] == result["GOOD", True]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def says_how_many_beats_wait(dut):
    """Frames have a beat each, and the count follows every one that comes or leaves."""
    bench = await begin(dut, sink=always)
    seen = [int(dut.used.value)]
    for _ in range(12):
        await bench.send([Packet(frame(bench.address, LEAST))])
        await edges(dut.clk, 12)
        seen.append(int(dut.used.value))
    ahead = 12 - seen[-1]  # at the output
    assert seen == [max(0, count - ahead) for count in range(13)]
    assert ahead <= 2
    result = await bench.drain()
    assert result == {("GOOD", False): 12}
    assert not dut.used.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_leaves_no_rest(dut):
    """The rest of a packet is no frame, though it were as long as one; what follows is good."""
    bench = await begin(dut, rarely)
    for length in (40, 64, 65, MOST):
        beats = Packet(frame(bench.address, length)).beats
        for at in range(1, len(beats)):
            await bench.source.send_all(beats[:at])
            await strobe(dut.rst, dut.clk)
            await edges(dut.clk, 1)
            before = len(bench.verdicts)
            await bench.source.send_all(beats[at:])
            good = frame(bench.address, LEAST)
            await bench.send([Packet(good)])
            await edges(dut.clk, 10)
            assert bench.verdicts[before:] == [("MALFORMED", False), ("GOOD", False)]
            assert bench.left[-1] == good
            assert len(bench.left) == len(set(bench.left))


@crossed(sink=[never, rarely, often])
async def behind_a_bad_link(dut, sink):
    """Packets of several beats are lost, doubled, late and broken as a whole."""
    bench = await begin(dut, rarely, sink)
    kinds = ("drop", "duplicate", "reorder", "corrupt")
    bench.set(latency=9, **dict.fromkeys(kinds, ALWAYS // 5))
    sent = [frame(bench.address, random.randint(LEAST, MOST)) for _ in range(1500)]
    await bench.send([Packet(octets) for octets in sent])
    result = await bench.drain()
    counts = {name: int(getattr(dut, name).value) for name in COUNTERS}
    assert counts["sent"] == len(sent)
    assert len(bench.came) == counts["delivered"]
    assert counts["sent"] + counts["duplicated"] - counts["dropped"] == counts["delivered"]
    assert result["CORRUPT", False] == counts["corrupted"]
    assert result["GOOD", False] + result["GOOD", True] == counts["delivered"] - counts["corrupted"]
    assert min(counts.values()) > 100
    copies = Counter(bench.left)
    assert copies.keys() <= set(sent)
    assert max(copies.values()) == 2
    places = [sent.index(octets) for octets in bench.left]
    assert any(a > b for a, b in pairwise(places))
