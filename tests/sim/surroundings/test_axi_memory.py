import random
from collections import deque
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi.axi_channels import AxiARBus, AxiARSource, AxiARTransaction, AxiRBus, AxiRSink

from hdl.common.axi import ID_BITS, Burst, Response
from sim.harness.payloads import pack
from sim.harness.streams import never, often, rarely, start, started
from sim.harness.verilator import SimulationError, params_in_simulator, simulate
from sim.surroundings.axi_memory import MEMORY_ARRAY, AxiMemory, AxiMemoryParams, memory_file

INDEX = 7


@pytest.mark.parametrize(
    ("params", "size"),
    [
        (AxiMemoryParams(), 5000),  # the last beat is not whole
        (AxiMemoryParams(address_bits=16, data_bits=32), 1024),
        (AxiMemoryParams(address_bits=34, data_bits=512), 64),
    ],
)
def test_axi_memory(params, size, tmp_path, rng):
    path = tmp_path / "content.bin"
    path.write_bytes(rng.bytes(size))
    simulate(
        AxiMemory(params),
        __name__,
        extra_sources=[MEMORY_ARRAY],
        plusargs=[memory_file(INDEX, path)],
    )


def test_loads_a_large_file(tmp_path):
    path = tmp_path / "content.bin"
    np.arange(1 << 22, dtype=np.uint64).tofile(path)
    simulate(
        AxiMemory(AxiMemoryParams()),
        __name__,
        extra_sources=[MEMORY_ARRAY],
        plusargs=[memory_file(INDEX, path)],
        test_filter="serves_the_end_of_the_file",
    )


def test_says_which_file_it_cannot_open(tmp_path):
    with pytest.raises(SimulationError):
        simulate(
            AxiMemory(AxiMemoryParams()),
            __name__,
            extra_sources=[MEMORY_ARRAY],
            plusargs=[memory_file(INDEX, tmp_path / "absent.bin")],
            test_filter="serves_the_end_of_the_file",
        )


def test_rejects_more_beats_than_an_array_holds():
    with pytest.raises(ValueError, match="address_bits must be at most 36: 37"):
        AxiMemoryParams(address_bits=37)


class Port:
    """Has the memory under test, its content, and a master of raw bursts."""

    def __init__(self, dut, pause=never):
        self.dut, self.params = dut, params_in_simulator(AxiMemoryParams)
        self.ar = AxiARSource(AxiARBus.from_prefix(dut, "axi"), dut.clk, dut.rst)
        self.r = AxiRSink(AxiRBus.from_prefix(dut, "axi"), dut.clk, dut.rst)
        if pause is not never:
            self.ar.set_pause_generator(iter(pause, None))
            self.r.set_pause_generator(iter(pause, None))
        self.content = Path(cocotb.plusargs[f"memory_{INDEX}"]).read_bytes()
        self.beat_bytes = self.params.data_bits // 8
        self.ids = deque()  # of the beats that are owed
        dut.index.value = INDEX
        self.set()

    def set(self, **settings):
        zero = {name: 0 for name, _ in self.params.settings}
        self.dut.settings.value = pack(self.params.settings, zero | settings)

    def beat(self, index):
        data = self.content[index * self.beat_bytes : (index + 1) * self.beat_bytes]
        return int.from_bytes(data, "little")

    @property
    def beats(self):
        """Return the beats of the file; the last one may be in part."""
        return -(-len(self.content) // self.beat_bytes)

    async def ask(self, index, beats, burst=Burst.INCR, size=None):
        size = self.beat_bytes.bit_length() - 1 if size is None else size
        identifier = random.getrandbits(ID_BITS)
        self.ids.extend([identifier] * beats)
        await self.ar.send(
            AxiARTransaction(
                arid=identifier,
                araddr=index * self.beat_bytes,
                arlen=beats - 1,
                arsize=size,
                arburst=burst.value,
            )
        )

    async def answers(self, count):
        """Data, response and last of ``count`` beats, which have their bursts' identifiers."""
        beats = [await self.r.recv() for _ in range(count)]
        assert [int(beat.rid) for beat in beats] == [self.ids.popleft() for _ in range(count)]
        return [
            (int(beat.rdata), Response(int(beat.rresp)), bool(int(beat.rlast))) for beat in beats
        ]

    def expected(self, bursts):
        return [
            (self.beat(index + k), Response.OKAY, k == beats - 1)
            for index, beats in bursts
            for k in range(beats)
        ]


async def trace(dut, count):
    """Return in which of ``count`` cycles a beat of R and a burst of AR moved."""
    moved = []
    for _ in range(count):
        await RisingEdge(dut.clk)
        moved.append(
            (
                bool(dut.axi_rvalid.value and dut.axi_rready.value),
                bool(dut.axi_arvalid.value and dut.axi_arready.value),
            )
        )
    return moved


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(pause=[never, rarely, often], stall=[0, 64, 200], latency=[0, 50])
async def answers_random_bursts(dut, pause, stall, latency):
    port = Port(dut, pause)
    port.set(latency=latency, ar_stall=stall, r_stall=stall, seed=random.getrandbits(32))
    await start(dut)
    bursts = []
    for _ in range(40):
        beats = min(port.beats, random.choice([1, 2, 16, random.randint(1, 40)]))
        bursts.append((random.randrange(port.beats - beats + 1), beats))
    for index, beats in bursts:
        await port.ask(index, beats)
    assert await port.answers(sum(beats for _, beats in bursts)) == port.expected(bursts)
    assert int(dut.missing.value) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def serves_the_end_of_the_file(dut):
    port = await started(Port(dut))
    await port.ask(port.beats - 1, 3)
    assert await port.answers(3) == port.expected([(port.beats - 1, 3)])
    await ClockCycles(dut.clk, 5)
    assert int(dut.missing.value) == 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(latency=[0, 1, 2, 3, 4, 10, 128, 1023])
async def keeps_its_latency_at_full_rate(dut, latency):
    """Of 64 bursts in flight, the first comes after the latency, then a beat every cycle."""
    port = Port(dut)
    port.set(latency=latency)
    await start(dut)
    least = max(latency, AxiMemory.least_latency)
    for _ in range(3):
        watching = cocotb.start_soon(trace(dut, 2 * 1024 + 200))
        bursts = [(0, 16)] * 64
        for index, beats in bursts:
            await port.ask(index, beats)
        moved = await watching
        beats = [number for number, (beat, _) in enumerate(moved) if beat]
        asked = [number for number, (_, burst) in enumerate(moved) if burst]
        assert beats == list(range(asked[0] + least, asked[0] + least + 1024))
        assert asked == list(range(asked[0], asked[0] + 64))
        await port.answers(1024)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def latency_counts_for_each_burst(dut):
    port = Port(dut)
    port.set(latency=30)
    await start(dut)
    watching = cocotb.start_soon(trace(dut, 400))
    for gap in (0, 3, 17, 40):
        await ClockCycles(dut.clk, gap)
        await port.ask(0, 1)
    moved = await watching
    asked = [number for number, (_, burst) in enumerate(moved) if burst]
    beats = [number for number, (beat, _) in enumerate(moved) if beat]
    assert beats == [number + 30 for number in asked]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(chance=[32, 128, 255])
async def stalls_as_often_as_asked(dut, chance):
    """Over 3,000 cycles, beats come in the share of cycles that is left, and so does AR."""
    port = await started(Port(dut))
    share = 1 - chance / 256
    for side in ("r_stall", "ar_stall"):
        port.set(**{side: chance, "seed": 1})
        dut.axi_rready.value = 1
        edge = RisingEdge(dut.clk)
        await edge
        moved = 0
        feeding = cocotb.start_soon(feed(port, 16 if side == "r_stall" else 1))
        await ClockCycles(dut.clk, 100)
        for _ in range(3000):
            await edge
            if side == "r_stall":
                moved += bool(dut.axi_rvalid.value and dut.axi_rready.value)
            else:
                moved += bool(dut.axi_arready.value)
        feeding.cancel()
        assert abs(moved / 3000 - share) < 4 * (share * (1 - share) / 3000) ** 0.5 + 0.005
        port.ar.clear()
        port.set()
        await ClockCycles(dut.clk, 1200)


async def feed(port, beats):
    port.ar.queue_occupancy_limit = 2
    while True:
        await port.ask(0, beats)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def seeds_repeat_and_indices_differ(dut):
    traces = {}
    port = Port(dut)
    for index, seed in ((INDEX, 5), (INDEX, 5), (INDEX, 6), (INDEX + 1, 5)):
        port.set(r_stall=128, ar_stall=128, seed=seed)
        dut.index.value = index
        dut.rst.value = 1
        if not traces:
            await start(dut)
        for _ in range(3):
            dut.rst.value = 1
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        ready = []
        for _ in range(100):
            await RisingEdge(dut.clk)
            ready.append(bool(dut.axi_arready.value))
        traces.setdefault((index, seed), []).append(tuple(ready))
    assert len(set(traces[INDEX, 5])) == 1
    assert len({trace for found in traces.values() for trace in found}) == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_beat_fails_when_told(dut):
    port = Port(dut)
    port.set(fail=1, fail_beat=0)
    await start(dut)
    await port.ask(0, 2)
    await port.ask(0, 2)
    responses = [response for _, response, _ in await port.answers(4)]
    assert responses == [Response.SLVERR, Response.OKAY] * 2
    port.set(fail=0, fail_beat=0)
    await port.ask(0, 1)
    assert (await port.answers(1))[0][1] == Response.OKAY


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(
    kind=[{"burst": Burst.FIXED}, {"burst": Burst.WRAP}, {"size": 0}],
)
async def refuses_unusual_bursts(dut, kind):
    port = await started(Port(dut))
    await port.ask(0, 4, **kind)
    await port.ask(0, 1)
    answers = await port.answers(5)
    assert [response for _, response, _ in answers] == [Response.SLVERR] * 4 + [Response.OKAY]
    assert [last for _, _, last in answers] == [False, False, False, True, True]
