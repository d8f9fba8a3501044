import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.network.frame import FRAMES
from hdl.p4sgd.network.tree_format import TREE_FRAMES
from hdl.switch.frame_filter import FrameFilter, Quality
from hdl.switch.frame_format import FrameFormat
from sim.harness.streams import never, often, rarely, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden import frames
from sim.p4sgd.golden.frames import WireFrame, judge
from tests.hdl.p4sgd.bench import LOW, TOP
from tests.hdl.switch import frames as sample
from tests.hdl.switch.frames import Head
from tests.simulated import simulated

ADDRESS = bytes.fromhex("021122334455")
BEAT_BYTES = 64
EDGES = LOW, 0, TOP

test_frame_filter = simulated(
    FrameFilter,
    [FRAMES, TREE_FRAMES],
    __name__,
    ids=lambda frames: frames.name,
    test_filter=r"^(?!.*of_several_beats)",
)


def test_frames_of_several_beats():
    simulate(FrameFilter(sample.FRAMES), __name__, test_filter="of_several_beats")


@pytest.mark.parametrize(("least", "more"), [(30, 4), (60, 5)])
def test_rejects(least, more):
    with pytest.raises(ValueError, match=r"more_bytes must be (0 where|from 0 to 4)"):
        replace(FRAMES, first=Head, constants=(), zero=(), least_bytes=least, more_bytes=more)


def some_frame():
    return WireFrame(
        destination=ADDRESS,
        source=random.randbytes(6),
        is_agg=random.random() < 0.5,
        acked=random.random() < 0.5,
        bm=random.getrandbits(32),
        job=random.getrandbits(16),
        epoch=random.getrandbits(16),
        seq=random.getrandbits(16),
        use=random.getrandbits(8),
        saturated=random.getrandbits(8),
        payload=tuple(random.choice([*EDGES, random.randint(LOW, TOP)]) for _ in range(8)),
    )


def mutated(wire, bits):
    """Return the bytes with each of ``bits`` flipped."""
    number = int.from_bytes(wire, "little")
    for bit in bits:
        number ^= 1 << bit
    return number.to_bytes(len(wire), "little")


def some_packet():
    """Draw bytes, and whether they are corrupt: good, mutated, cut, longer, or anything."""
    wire, kind = some_frame().to_bytes(), random.random()
    if kind < 0.3:
        wire = mutated(wire, random.choices(range(480), k=random.randint(0, 2)))
    elif kind < 0.5:  # in what is looked at
        wire = mutated(wire, random.choices([*range(48), *range(96, 128)], k=1))
    elif kind < 0.75:
        length = random.choice([1, 14, 15, 16, 59, 61, 63, 64, 65, 128, random.randint(1, 200)])
        wire = (wire + random.randbytes(200))[:length]
        if random.random() < 0.3:
            wire = mutated(wire, [random.randrange(8 * min(length, 16))])
    elif kind < 0.8:  # two frames in one packet
        wire += random.randbytes(4) + some_frame().to_bytes()
    elif kind < 0.85:
        wire = random.randbytes(random.randint(1, 200))
    return wire, random.random() < 0.1


class Bench:
    """Drives packets, and compares every report with the golden judgement, cycle for cycle."""

    def __init__(self, dut):
        self.dut = dut
        self.edge = RisingEdge(dut.clk)
        self.expected = None  # of the beat that is about to move
        self.reported = None  # of the beat before
        self.reports = 0
        params = params_in_simulator(FrameFormat)
        self.lengths = {params.most_bytes, params.longest_bytes}
        self.has_more = bool(params.more_bytes)
        dut.axis_tvalid.value = 0
        self.set_address(ADDRESS)

    def set_address(self, address):
        self.address = address
        self.dut.address.value = int.from_bytes(address, "little")

    async def step(self):
        """Let a clock edge pass; the report of the cycle before is there until then."""
        dut = self.dut
        await self.edge
        assert dut.axis_tready.value
        assert bool(dut.valid.value) == (self.reported is not None)
        if self.reported is not None:
            quality, first, last, name = self.reported
            assert Quality(int(dut.quality.value)).name == quality.name, name
            assert int(dut.frame.value) == first, name
            if self.has_more and quality is frames.Quality.GOOD:
                long = len(last) == BEAT_BYTES
                assert bool(dut.longer.value) == long, name
                assert not long or int(dut.more.value).to_bytes(4, "little") == last[60:], name
            self.reports += 1
        self.reported, self.expected = self.expected, None

    async def idle(self, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            dut.axis_tvalid.value = 0
            dut.axis_tdata.value = random.getrandbits(512)
            dut.axis_tkeep.value = random.getrandbits(64)
            dut.axis_tlast.value = random.getrandbits(1)
            dut.axis_tuser.value = random.getrandbits(1)
            await self.step()

    async def send(self, wire, corrupt, stall=never, first=None):
        """A packet; bytes that its last beat does not have are garbage.

        ``first`` is what ``frame`` shows, if not the first beat.
        """
        dut = self.dut
        for at in range(0, len(wire), BEAT_BYTES):
            while stall():
                await self.idle()
            chunk, last = wire[at : at + BEAT_BYTES], at + BEAT_BYTES >= len(wire)
            filled = chunk + random.randbytes(BEAT_BYTES - len(chunk))
            dut.axis_tvalid.value = 1
            dut.axis_tdata.value = beat = int.from_bytes(filled, "little")
            dut.axis_tkeep.value = (1 << len(chunk)) - 1
            dut.axis_tlast.value = last
            dut.axis_tuser.value = corrupt and last
            first = beat & ((1 << 480) - 1) if first is None else first
            if last:
                quality = judge(wire, corrupt, self.address, self.lengths)
                self.expected = quality, first, chunk, wire.hex()
            await self.step()

    async def finish(self, packets):
        await self.idle(5)
        assert self.reports == packets


async def started(dut):
    bench = Bench(dut)
    await start(dut)
    return bench


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(stall=[never, rarely, often])
async def judges_a_flood(dut, stall):
    bench = await started(dut)
    seen = {quality: 0 for quality in frames.Quality}
    for _ in range(7000):
        wire, corrupt = some_packet()
        seen[judge(wire, corrupt, ADDRESS)] += 1
        await bench.send(wire, corrupt, stall)
    await bench.finish(7000)
    assert min(seen.values()) > 300, seen


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def judges_each_bit_and_each_length(dut):
    """Packets follow back to back, with every single bit flipped and of every length."""
    bench = await started(dut)
    wire = some_frame().to_bytes()
    for bit in range(480):
        await bench.send(mutated(wire, [bit]), False)
    long = wire + random.randbytes(200)
    for length in range(1, 201):
        await bench.send(long[:length], False)
        await bench.send(mutated(long[:length], [random.randrange(8)]), False)
    await bench.finish(880)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_report_follows_its_beat(dut):
    """It lasts one cycle, ``latency`` later; with a gap inside, it follows the last beat."""
    assert FrameFilter.latency == 1  # what Bench.step compares with
    bench = await started(dut)
    await bench.idle(3)
    for wire in (some_frame().to_bytes(), some_frame().to_bytes() + bytes(100)):
        await bench.send(wire, False)
        await bench.idle(3)
    long = replace(some_frame(), version=frames.VERSION + 1).to_bytes() + bytes(100)
    await bench.send(long, False, often)
    await bench.send(some_frame().to_bytes(), False)
    await bench.finish(4)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_address_may_change(dut):
    bench = await started(dut)
    other = bytes(255 - byte for byte in ADDRESS)  # no bit is the same
    for address in (ADDRESS, other, ADDRESS):
        await bench.idle(2)
        bench.set_address(address)
        for destination in (ADDRESS, other):
            await bench.send(replace(some_frame(), destination=destination).to_bytes(), False)
    await bench.finish(6)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(beats=[2, 3, 4])
async def a_reset_in_the_middle_makes_no_packet_of_the_rest(dut, beats):
    """The rest may be a whole frame of its own; the packet behind it is good again."""
    bench = await started(dut)
    good = some_frame().to_bytes()
    long = b"".join(good + bytes(4) for _ in range(beats - 1)) + good

    async def reset(at):
        for _ in range(at):
            await bench.edge
        dut.rst.value = 1
        await bench.edge
        dut.rst.value = 0

    for at in range(beats - 1):
        resetting = cocotb.start_soon(reset(at))
        await bench.send(long, False, first=0)
        await bench.send(good, False)
        await resetting
    await bench.finish(2 * (beats - 1))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stall=[never, often])
async def judges_packets_of_several_beats(dut, stall):
    """Bytes may lack anywhere: at the end, in the middle, in a beat that is not the last."""
    dut.axis_tvalid.value = 0
    dut.address.value = int.from_bytes(ADDRESS, "little")
    await start(dut)
    packets = [sample.some_packet(ADDRESS) for _ in range(2000)]
    found = []

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            if dut.valid.value:
                found.append(Quality(int(dut.quality.value)).name)

    cocotb.start_soon(watch())
    for beat in (beat for packet in packets for beat in packet.beats):
        while stall():
            dut.axis_tvalid.value = 0
            await RisingEdge(dut.clk)
        dut.axis_tvalid.value = 1
        for name, value in zip(("tdata", "tkeep", "tlast", "tuser"), beat, strict=True):
            getattr(dut, f"axis_{name}").value = value
        await RisingEdge(dut.clk)
    dut.axis_tvalid.value = 0
    await ClockCycles(dut.clk, 3)
    assert found == [sample.judge(packet.beats, ADDRESS)[0] for packet in packets]
