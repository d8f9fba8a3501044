import random
from itertools import pairwise
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

from hdl.common.axi import Burst, Response
from sim.harness.axi_streams import AxiStream
from sim.harness.payloads import pack
from sim.harness.streams import Sink, Source, crossed, never, often, rarely, start, started
from sim.harness.verilator import SimulationError, params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, AxiRamParams, dump_file, ram_file
from sim.surroundings.side_port import SidePort
from tests.rejects import rejects

INDEX = 5
CONTENT = bytearray()  # the RAM keeps it from one cocotb test to the next
#: tests that write nothing
READS = "each_burst_has_its_latency|seeds_repeat_and_indices_differ|refreshed"
READ_ONLY = AxiRamParams(data_bits=256, read_only=True, bursts=64)


@pytest.mark.parametrize(
    ("params", "size", "tests"),
    [
        (AxiRamParams(processor=True), 100 * 64 - 9, None),  # the last beat is not whole
        (AxiRamParams(address_bits=12, data_bits=32, id_bits=3), 1024, None),
        (READ_ONLY, 5000, READS),
        (READ_ONLY, 1 << 25, READS),
    ],
)
def test_axi_ram(params, size, tests, tmp_path, rng):
    content, dump = tmp_path / "content.bin", tmp_path / "dump.bin"
    content.write_bytes(rng.bytes(size))
    simulate(
        AxiRam(params),
        __name__,
        extra_sources=[RAM_ARRAY],
        plusargs=[ram_file(INDEX, content), dump_file(INDEX, dump)],
        test_filter=tests,
    )


@pytest.mark.parametrize("missing", ["content", "dump"])
def test_says_which_file_it_cannot_open(tmp_path, missing):
    content = tmp_path / "content.bin"
    if missing != "content":
        content.write_bytes(bytes(64))
    with pytest.raises(SimulationError):
        simulate(
            AxiRam(AxiRamParams()),
            __name__,
            extra_sources=[RAM_ARRAY],
            plusargs=[ram_file(INDEX, content)],
            test_filter="dumps_every_time",
        )


test_rejects = rejects(AxiRamParams, ({"address_bits": 38}, "address_bits must be at most 37: 38"))


class Channel(AxiStream):
    """Is a channel of the port, whose signals have no separator between them and its name."""

    _signals = {"valid": "valid", "ready": "ready"}
    _payload = ("id", "addr", "len", "size", "burst", "data", "strb", "resp", "last")
    _separator = ""


class Demands(Channel, Source): ...


class Answers(Channel, Sink): ...


class Port:
    """Has the RAM under test, what it should hold, and a master of raw bursts."""

    def __init__(self, dut, pause=never):
        self.dut, self.params = dut, params_in_simulator(AxiRamParams)
        self.beat_bytes = self.params.data_bits // 8
        if not CONTENT:
            CONTENT.extend(Path(cocotb.plusargs[f"ram_{INDEX}"]).read_bytes())
            CONTENT.extend(bytes(-len(CONTENT) % self.beat_bytes))
        self.content = CONTENT
        self.ar, self.r = Demands(dut, "axi_ar", stall=pause), Answers(dut, "axi_r", stall=pause)
        if not self.params.read_only:
            self.aw, self.w = (Demands(dut, f"axi_{name}", stall=pause) for name in ("aw", "w"))
            self.b = Answers(dut, "axi_b", stall=pause)
            dut.dump.value = 0
        dut.index.value = INDEX
        self.set()

    def set(self, **settings):
        self.dut.settings.value = pack(self.params.settings, settings)

    def burst(self, beat, beats, identifier, burst=Burst.INCR, size=None):
        return {
            "id": identifier,
            "addr": beat * self.beat_bytes,
            "len": beats - 1,
            "size": self.beat_bytes.bit_length() - 1 if size is None else size,
            "burst": burst.value,
        }

    def read(self, beat, beats, identifier=0, **kind):
        """Ask for data, and note what should be answered."""
        self.ar.append(self.burst(beat, beats, identifier, **kind))
        answers = []
        for k in range(beats):
            at = (beat + k) * self.beat_bytes  # a slice to the end would copy 32 MB a beat
            data = self.content[at : at + self.beat_bytes]
            answer = {"resp": 0, "data": int.from_bytes(data, "little"), "last": k == beats - 1}
            answers.append({"id": identifier} | answer)
        return answers

    def write(self, beat, beats, identifier=0, *, strobes=None, wlast=None, **kind):
        """Ask, keep what is to be kept, and note what should be answered."""
        self.aw.append(self.burst(beat, beats, identifier, **kind))
        for k in range(beats):
            strobe = random.getrandbits(self.beat_bytes) if strobes is None else strobes
            data = random.randbytes(self.beat_bytes)
            last = k == (beats - 1 if wlast is None else wlast)
            self.w.append({"data": int.from_bytes(data, "little"), "strb": strobe, "last": last})
            at = (beat + k) * self.beat_bytes
            for lane in range(self.beat_bytes):
                if not kind and strobe >> lane & 1 and at + lane < len(self.content):
                    self.content[at + lane] = data[lane]
        return {"id": identifier, "resp": 0}

    @property
    def beats(self):
        return len(self.content) // self.beat_bytes

    async def dumped(self):
        self.dut.dump.value = 1
        await ClockCycles(self.dut.clk, 3)
        self.dut.dump.value = 0
        await RisingEdge(self.dut.clk)
        return Path(cocotb.plusargs[f"dump_{INDEX}"]).read_bytes()


def random_burst(port):
    beats = min(port.beats, random.choice([1, 2, 16, random.randint(1, 16)]))
    return random.randrange(port.beats - beats + 1), beats, random.getrandbits(port.params.id_bits)


@crossed(pause=[never, rarely, often], stall=[0, 128], latency=[0, 50])
async def writes_and_reads_random_bursts(dut, pause, stall, latency):
    port = Port(dut, pause)
    names = ("ar_stall", "r_stall", "aw_stall", "w_stall", "b_stall")
    port.set(
        read_latency=latency,
        write_latency=latency,
        seed=random.getrandbits(32),
        **dict.fromkeys(names, stall),
    )
    await start(dut)
    # Two rounds: what is read while others write is what the round before wrote.
    untouched = [random_burst(port) for _ in range(20)]
    reads = [answer for burst in untouched for answer in port.read(*burst)]
    await port.r.wait_for(len(reads))
    writes = [port.write(*random_burst(port)) for _ in range(30)]
    await port.b.wait_for(len(writes))
    reads += [answer for _ in range(30) for answer in port.read(*random_burst(port))]
    await port.r.wait_for(len(reads))
    assert port.r.beats == reads
    assert port.b.beats == writes
    assert await port.dumped() == port.content
    assert (int(dut.missing.value), int(dut.lost.value)) == (0, 0)
    assert not any(channel.missing for channel in (port.ar, port.aw, port.w))


@crossed(latency=[0, 2, 3, 10, 200, 1023])
async def keeps_its_latencies_at_full_rate(dut, latency):
    """Beats move in each cycle in both directions at once, with each latency as set."""
    port = Port(dut)
    port.set(read_latency=latency, write_latency=latency)
    await start(dut)
    count = min(port.beats, 16)
    for _ in range(64):
        port.read(0, count)
        port.write(0, count)
    await port.r.wait_for(64 * count)
    await port.b.wait_for(64)
    beats = port.r.cycles
    assert beats == list(range(beats[0], beats[0] + 64 * count))
    assert beats[0] - port.ar.cycles[0] == max(latency, AxiRam.least_read_latency)
    beats = port.w.cycles
    assert beats == list(range(beats[0], beats[0] + 64 * count))
    least = max(latency, AxiRam.least_write_latency)
    lasts = beats[count - 1 :: count]
    assert port.b.cycles == [number + least for number in lasts]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_burst_has_its_latency(dut):
    """It does wherever it begins, and whatever came before it; the last one ends beyond the end."""
    port = Port(dut)
    port.set(read_latency=30)
    await start(dut)
    beats, firsts = [], []
    bursts = [*(random_burst(port) for _ in range(20)), (port.beats - 1, 3, 1)]
    for burst in bursts:
        await ClockCycles(dut.clk, random.choice([0, 3, 17, 40]))
        firsts.append(len(beats))
        beats += port.read(*burst)
        await port.r.wait_for(len(beats))
    await ClockCycles(dut.clk, 3)
    assert port.r.beats[:-2] == beats[:-2]
    assert [beat["data"] for beat in port.r.beats[-2:]] == [0, 0]
    assert [port.r.cycles[k] for k in firsts] == [at + 30 for at in port.ar.cycles]
    assert int(dut.missing.value) == 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def seeds_repeat_and_indices_differ(dut):
    """After a reset with the same seed, addresses are taken in the same cycles."""
    port, traces = await started(Port(dut)), {}
    for index, seed in ((INDEX, 5), (INDEX, 5), (INDEX, 6), (INDEX + 1, 5)):
        port.set(r_stall=128, ar_stall=128, seed=seed)
        dut.index.value, dut.rst.value = index, 1
        await ClockCycles(dut.clk, 3)
        dut.rst.value = 0
        ready = []
        for _ in range(100):
            await RisingEdge(dut.clk)
            ready.append(bool(dut.axi_arready.value))
        traces.setdefault((index, seed), set()).add(tuple(ready))
    assert [len(result) for result in traces.values()] == [1] * 3
    assert len(set.union(*traces.values())) == 3


@crossed(chance=[64, 200], side=["ar", "r", "aw", "w", "b"])
async def stalls_as_often_as_requested(dut, chance, side):
    port = Port(dut)
    port.set(**{f"{side}_stall": chance, "seed": random.getrandbits(32)})
    await start(dut)
    channel = {"ar": "r", "aw": "b"}.get(side, side)
    for _ in range(600):
        port.read(0, 1) if "r" in side else port.write(0, 1)
    await (port.r if "r" in side else port.b).wait_for(600)
    cycles, share = getattr(port, channel).cycles, 1 - chance / 256
    spent = cycles[-1] - cycles[0]
    assert abs(600 / spent - share) < 5 * (share * (1 - share) / spent) ** 0.5 + 0.01


@crossed(refresh=[(40, 12, 0), (40, 12, 5), (101, 9, 9), (975, 88, 64)])
async def pauses_to_be_refreshed(dut, refresh):
    """Both directions do for so many cycles but those that are hidden, and at no other time."""
    interval, pause, hidden = refresh
    port = Port(dut)
    names = ("refresh_interval", "refresh_pause", "refresh_hidden")
    port.set(**dict(zip(names, refresh, strict=True)))
    await start(dut)
    channels = [port.r] if port.params.read_only else [port.r, port.w]
    count = min(port.beats, 16)
    bursts = 3 * interval // count + 1
    for _ in range(bursts):
        port.read(0, count)
        if not port.params.read_only:
            port.write(0, count)
    await port.r.wait_for(bursts * count)
    if not port.params.read_only:
        await port.b.wait_for(bursts)
    for channel in channels:
        gaps = [(a, b - a - 1) for a, b in pairwise(channel.cycles) if b - a > 1]
        assert {length for _, length in gaps} == ({pause - hidden} - {0})
        assert {b - a for (a, _), (b, _) in pairwise(gaps)} <= {interval}


@crossed(shared=[0, 1])
async def ports_of_a_channel_are_refreshed_together(dut, shared):
    port, times = await started(Port(dut)), {}
    for index in range(4):
        port.set(refresh_interval=200, refresh_pause=50, refresh_shared=shared)
        dut.index.value, dut.rst.value = index, 1
        await ClockCycles(dut.clk, 3)
        dut.rst.value = 0
        port.r.beats.clear(), port.r.cycles.clear(), port.ar.cycles.clear()
        for _ in range(25):
            port.read(0, 16)
        await port.r.wait_for(400)
        after = [at - port.ar.cycles[0] for at in port.r.cycles]
        times[index] = next(a for a, b in pairwise(after) if b - a > 1)
    assert len(set(times.values())) == 4 - 2 * shared
    assert (times[0] == times[1]) == (times[2] == times[3]) == bool(shared)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_what_lies_beyond_the_end(dut):
    port = await started(Port(dut))
    reads = port.read(port.beats - 1, 4)
    writes = [port.write(port.beats - 1, 3)]
    await port.r.wait_for(4)
    await port.b.wait_for(1)
    assert [beat["data"] for beat in port.r.beats[1:]] == [0, 0, 0]
    assert port.r.beats[0]["resp"] == reads[0]["resp"]
    assert port.b.beats == writes
    await ClockCycles(dut.clk, 3)
    assert (int(dut.missing.value), int(dut.lost.value)) == (3, 2)
    assert await port.dumped() == port.content


@crossed(response=[Response.SLVERR, Response.DECERR])
async def fails_when_reported(dut, response):
    """The beat that is read fails, and the burst that writes it, and no others."""
    port = await started(Port(dut))
    port.set(fail_read=1, fail_read_beat=1, fail_response=response)
    for beat, beats in ((0, 3), (1, 1), (0, 1)):
        port.read(beat, beats)
        port.write(beat, beats)
    await port.r.wait_for(5)
    await port.b.wait_for(3)
    bad = response.value
    assert [beat["resp"] for beat in port.r.beats] == [0, bad, 0, bad, 0]
    assert [beat["resp"] for beat in port.b.beats] == [0, 0, 0]
    port.set(fail_write=1, fail_write_beat=1, fail_response=response)
    for beat, beats in ((0, 3), (2, 2), (1, 1), (0, 1), (0, 2)):
        port.read(beat, beats)
        port.write(beat, beats)
    await port.r.wait_for(14)
    await port.b.wait_for(8)
    assert [beat["resp"] for beat in port.r.beats[5:]] == [0] * 9
    assert [beat["resp"] for beat in port.b.beats[3:]] == [bad, 0, bad, 0, bad]
    assert await port.dumped() == port.content


@crossed(kind=[{"burst": Burst.FIXED}, {"burst": Burst.WRAP}, {"size": 0}])
async def refuses_unusual_bursts(dut, kind):
    port = await started(Port(dut))
    port.read(0, 4, **kind)
    port.read(0, 1)
    port.write(0, 4, **kind)
    port.write(0, 2, wlast=0)
    port.write(0, 1)
    await port.r.wait_for(5)
    await port.b.wait_for(3)
    assert [beat["resp"] for beat in port.r.beats] == [Response.SLVERR.value] * 4 + [0]
    assert [beat["last"] for beat in port.r.beats] == [0, 0, 0, 1, 1]
    assert [beat["resp"] for beat in port.b.beats] == [Response.SLVERR.value] * 2 + [0]
    assert await port.dumped() == port.content


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_processor_reads_and_writes_beside_the_bus(dut):
    """It may access any bytes, even those that the bus uses meanwhile, or beyond the end."""
    port = Port(dut)
    if not port.params.processor:
        return
    memory = SidePort(dut, port.params)
    await start(dut)
    half = port.beats // 2
    for _ in range(40):
        port.read(0, 8)
        port.write(0, 8)
        address = random.randrange(half, port.beats - 4) * port.beat_bytes + random.randrange(64)
        octets = random.randbytes(random.randrange(200))
        await memory.write_memory(address, octets)
        port.content[address : address + len(octets)] = octets
        address = random.randrange(half * port.beat_bytes, len(port.content) - 200)
        size = random.randrange(200)
        assert await memory.read_memory(address, size) == port.content[address : address + size]
    await port.b.wait_for(40)
    await memory.write_memory(len(port.content), bytes(64))
    assert (int(dut.missing.value), int(dut.lost.value)) == (0, 0)
    assert await port.dumped() == port.content


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def dumps_every_time(dut):
    port = await started(Port(dut))
    assert await port.dumped() == port.content
    port.write(0, 1, strobes=(1 << port.beat_bytes) - 1)
    await with_timeout(cocotb.start_soon(port.b.wait_for(1)), 1, "us")
    assert await port.dumped() == port.content
