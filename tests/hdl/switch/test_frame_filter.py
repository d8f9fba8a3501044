import random
from collections import Counter
from dataclasses import replace

import cocotb
import pytest

from hdl.p4sgd.network.frame import FRAMES
from hdl.p4sgd.network.tree_format import TREE_FRAMES
from hdl.switch.frame_filter import FrameFilter, Quality
from hdl.switch.frame_format import FrameFormat
from sim.golden.reduction import frames
from sim.golden.reduction.frames import WireFrame, judge
from sim.harness.axi_streams import AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import crossed, edges, never, often, rarely, start, started, strobe
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import LOW, TOP
from tests.hdl.switch import frames as sample
from tests.hdl.switch.frames import Head
from tests.simulated import simulated

ADDRESS = bytes.fromhex("021122334455")
BEAT_BYTES = 64
QUALITY = {"quality": Quality}
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
    """Sends packets, and compares every report with the golden judgement, cycle for cycle."""

    def __init__(self, dut, stall=never):
        self.dut = dut
        params = params_in_simulator(FrameFormat)
        self.lengths = {params.max_bytes, params.longest_bytes}
        more = ("longer", "more") if params.more_bytes else ()
        self.source = AxiSource(dut, "axis", stall=stall)
        self.reports = Recorder(dut, "valid", dict.fromkeys(("frame", *more)) | QUALITY)
        self.ready = Recorder(dut, "", {"axis_tready": None})
        self.ends, self.expected = [], []  # of each packet: number of its last beat; its report
        self.set_address(ADDRESS)

    def set_address(self, address):
        self.address = address
        self.dut.address.value = int.from_bytes(address, "little")

    async def send(self, *packets, corrupt=False, first=None):
        """Send packets; ``first`` is what ``frame`` shows, if not the first beat."""
        await self.send_all([(wire, corrupt) for wire in packets], first)

    async def send_all(self, packets, first=None):
        """Send packets, each as its bytes and whether it is corrupt."""
        beats, before = [], len(self.source.cycles)
        for wire, corrupt in packets:
            coming = [*beats_of(wire, corrupt=corrupt)]
            frame = coming[0]["tdata"] % (1 << 480) if first is None else first
            report = {"quality": judge(wire, corrupt, self.address, self.lengths), "frame": frame}
            last = wire[-(len(wire) % BEAT_BYTES or BEAT_BYTES) :]
            self.expected.append((report | {"longer": len(last) == BEAT_BYTES}, last))
            beats += coming
            self.ends.append(before + len(beats) - 1)
        await self.source.send_all(beats)

    async def finish(self):
        await edges(self.dut.clk, 5)
        ends = [self.source.cycles[end] for end in self.ends]
        assert self.reports.cycles == [end + FrameFilter.latency for end in ends]
        for result, (golden, last) in zip(self.reports.beats, self.expected, strict=True):
            assert result["quality"].name == golden["quality"].name
            assert result["frame"] == golden["frame"]
            if "more" in result and golden["quality"] is frames.Quality.GOOD:
                assert result["longer"] == golden["longer"]
                assert not result["longer"] or result["more"].to_bytes(4, "little") == last[60:]
        assert all(cycle["axis_tready"] for cycle in self.ready.beats)


@crossed(stall=[never, rarely, often], ms=10)
async def judges_a_flood(dut, stall):
    bench = await started(Bench(dut, stall))
    packets = [some_packet() for _ in range(7000)]
    await bench.send_all(packets)
    await bench.finish()
    seen = Counter(judge(*packet, ADDRESS) for packet in packets)
    assert min(seen[quality] for quality in frames.Quality) > 300, seen


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def judges_each_bit_and_each_length(dut):
    """Packets follow back to back, with every single bit flipped and of every length."""
    bench = await started(Bench(dut))
    wire = some_frame().to_bytes()
    packets = [mutated(wire, [bit]) for bit in range(480)]
    long = wire + random.randbytes(200)
    for length in range(1, 201):
        packets += [long[:length], mutated(long[:length], [random.randrange(8)])]
    await bench.send(*packets)
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_address_may_change(dut):
    bench = await started(Bench(dut))
    other = bytes(255 - byte for byte in ADDRESS)  # no bit is the same
    for address in (ADDRESS, other, ADDRESS):
        await edges(dut.clk, 2)
        bench.set_address(address)
        to_both = (replace(some_frame(), destination=item) for item in (ADDRESS, other))
        await bench.send(*(item.to_bytes() for item in to_both))
    await bench.finish()


@crossed(beats=[2, 3, 4])
async def a_reset_in_the_middle_makes_no_packet_of_the_rest(dut, beats):
    """The rest may be a whole frame of its own; the packet behind it is good again."""
    bench = await started(Bench(dut))
    good = some_frame().to_bytes()
    long = b"".join(good + bytes(4) for _ in range(beats - 1)) + good

    async def reset(at):
        await edges(dut.clk, at)
        await strobe(dut.rst, dut.clk)

    for at in range(beats - 1):
        resetting = cocotb.start_soon(reset(at))
        await bench.send(long, first=0)
        await bench.send(good)
        await resetting
    await bench.finish()


@crossed(stall=[never, often])
async def judges_packets_of_several_beats(dut, stall):
    """Bytes may lack anywhere: at the end, in the middle, in a beat that is not the last."""
    source, reports = AxiSource(dut, "axis", stall=stall), Recorder(dut, "valid", QUALITY)
    dut.address.value = int.from_bytes(ADDRESS, "little")
    await start(dut)
    packets = [sample.some_packet(ADDRESS) for _ in range(2000)]
    await source.send_all(beat for packet in packets for beat in packet.beats)
    await edges(dut.clk, 3)
    result = [report["quality"].name for report in reports.beats]
    assert result == [sample.judge(packet.beats, ADDRESS)[0] for packet in packets]
