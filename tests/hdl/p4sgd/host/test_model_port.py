import os
import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster
from cocotbext.axi.axi_channels import (
    AxiARSource,
    AxiARTransaction,
    AxiAWSource,
    AxiAWTransaction,
    AxiBSink,
    AxiRSink,
    AxiWSource,
    AxiWTransaction,
)

from hdl.common.axi import Burst, Response
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.streams import cycle, never, often, rarely, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.host.model_bench import ModelBench, ModelBenchParams

BEAT = 32
FULL = 5  #: AxSIZE of a whole beat
INCR = Burst.INCR.value
RESERVED = 3  #: the fourth AxBURST, which means nothing
MOST = 4096 // BEAT  #: whole beats of a burst, which stays within 4 KB


TOGETHER = "INGATHER_TEST_TOGETHER"  #: whether engines take a question when they answer it


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    "worker",
    [
        WorkerParams(engines=1, engine=EngineParams(chunks=3)),
        WorkerParams(engines=3, engine=EngineParams(banks=8, lanes=32, chunks=4)),
        WorkerParams(engines=8, engine=EngineParams(banks=2, lanes=128, chunks=5)),
    ],
    ids=lambda worker: worker.suffix,
)
def test_model_port(worker, together):
    env = {TOGETHER: str(int(together))}
    simulate(ModelBench(ModelBenchParams(worker=worker)), __name__, env=env)


class Host:
    """Knows what the host may see: every weight's byte address, and what it holds."""

    def __init__(self, dut, *, pause=never, raw=False):
        self.dut, self.worker = dut, params_in_simulator(ModelBenchParams).worker
        self.pause = pause
        bus = AxiBus.from_prefix(dut, "s_axi")
        if raw:
            self.aw = AxiAWSource(bus.write.aw, dut.clk, dut.rst)
            self.w = AxiWSource(bus.write.w, dut.clk, dut.rst)
            self.b = AxiBSink(bus.write.b, dut.clk, dut.rst)
            self.ar = AxiARSource(bus.read.ar, dut.clk, dut.rst)
            self.r = AxiRSink(bus.read.r, dut.clk, dut.rst)
            channels = [self.aw, self.w, self.b, self.ar, self.r]
        else:
            self.master = AxiMaster(bus, dut.clk, dut.rst)
            write, read = self.master.write_if, self.master.read_if
            channels = [write.aw_channel, write.w_channel, write.b_channel]
            channels += [read.ar_channel, read.r_channel]
        if pause is not never:
            for channel in channels:
                channel.set_pause_generator(iter(pause, None))
        dut.allow.value = 1
        dut.pause.value = 0
        self.together = int(os.environ[TOGETHER])
        dut.together.value = self.together

    async def begin(self):
        await start(self.dut)
        if self.pause is not never:
            cocotb.start_soon(self._pause_engines())

    async def _pause_engines(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.dut.pause.value = random.getrandbits(8) & ((1 << self.worker.engines) - 1)

    @property
    def chunk_bytes(self):
        return 4 * self.worker.engine.lanes

    @property
    def engine_bytes(self):
        return self.chunk_bytes << self.worker.engine.model.chunk_bits

    def address(self, engine, chunk=0, lane=0):
        return engine * self.engine_bytes + chunk * self.chunk_bytes + 4 * lane

    @property
    def spans(self):
        """Return first address and size of each engine's weights."""
        size = self.chunk_bytes * self.worker.engine.chunks
        return [(self.address(engine), size) for engine in range(self.worker.engines)]

    async def fill(self):
        """Put random weights everywhere, as the port must show them."""
        content = {}
        for first, size in self.spans:
            content[first] = random.randbytes(size)
            assert (await self.master.write(first, content[first])).resp == Response.OKAY.value
        return content

    async def check(self, content):
        for first, data in content.items():
            answer = await self.master.read(first, len(data))
            assert answer.resp == Response.OKAY.value
            assert answer.data == data

    async def ask_write(self, address, beats, *, identifier=0, size=FULL, burst=INCR):
        """Ask for a raw burst; ``beats`` are data and strobes."""
        await self.aw.send(
            AxiAWTransaction(
                awid=identifier,
                awaddr=address,
                awlen=len(beats) - 1,
                awsize=size,
                awburst=burst,
            )
        )
        for number, (data, strobes) in enumerate(beats):
            await self.w.send(
                AxiWTransaction(wdata=data, wstrb=strobes, wlast=number == len(beats) - 1)
            )

    async def ask_read(self, address, beats, *, identifier=0, size=FULL, burst=INCR):
        await self.ar.send(
            AxiARTransaction(
                arid=identifier, araddr=address, arlen=beats - 1, arsize=size, arburst=burst
            )
        )

    async def written(self):
        answer = await self.b.recv()
        return int(answer.bid), Response(int(answer.bresp))

    async def was_read(self, beats):
        """Check identifier, data and response of each beat; only the last one is marked."""
        answers = [await self.r.recv() for _ in range(beats)]
        assert [bool(int(beat.rlast)) for beat in answers] == [False] * (beats - 1) + [True]
        return [(int(beat.rid), int(beat.rdata), Response(int(beat.rresp))) for beat in answers]

    async def write(self, address, beats, **options):
        await self.ask_write(address, beats, **options)
        return (await self.written())[1]

    async def read(self, address, beats, **options):
        await self.ask_read(address, beats, **options)
        return [(data, response) for _, data, response in await self.was_read(beats)]


ALL = (1 << BEAT) - 1


def random_beats(count):
    return [(random.getrandbits(8 * BEAT), ALL) for _ in range(count)]


def okay(beats):
    return [(data, Response.OKAY) for data, _ in beats]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(pause=[never, rarely, often])
async def remembers_every_weight(dut, pause):
    host = Host(dut, pause=pause)
    await host.begin()
    content = await host.fill()
    await host.check(content)
    for _ in range(20):
        first, size = random.choice(host.spans)
        beats = random.randint(1, size // BEAT)
        at = BEAT * random.randrange(size // BEAT - beats + 1)
        data = random.randbytes(BEAT * beats)
        assert (await host.master.write(first + at, data)).resp == Response.OKAY.value
        old = content[first]
        content[first] = old[:at] + data + old[at + len(data) :]
        # What has been answered is there.
        assert (await host.master.read(first + at, len(data))).data == data
    await host.check(content)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def puts_lanes_in_order(dut):
    """A weight's address says engine, chunk and lane."""
    host = Host(dut, raw=True)
    await host.begin()
    places = [
        (engine, chunk, lane)
        for engine in range(host.worker.engines)
        for chunk in range(host.worker.engine.chunks)
        for lane in range(0, host.worker.engine.lanes, 8)
    ]
    for engine, chunk, lane in places:
        weights = sum((engine << 16 | chunk << 8 | lane + k) << 32 * k for k in range(8))
        assert (
            await host.write(host.address(engine, chunk, lane), [(weights, ALL)]) == Response.OKAY
        )
    for engine, chunk, lane in random.sample(places, len(places)):
        [(data, _)] = await host.read(host.address(engine, chunk, lane), 1)
        assert [data >> 32 * k & 0xFFFFFFFF for k in range(8)] == [
            engine << 16 | chunk << 8 | lane + k for k in range(8)
        ]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(pause=[never, often])
async def refuses_beats_with_missing_strobes(dut, pause):
    """Such a beat changes nothing, the burst's others do, and the answer tells."""
    host = Host(dut, pause=pause, raw=True)
    await host.begin()
    old = random_beats(4)
    assert await host.write(0, old) == Response.OKAY
    for missing in (1, 1 << 31, ALL, random.getrandbits(32) | 2):
        new = random_beats(4)
        new[2] = (new[2][0], ALL & ~missing)
        assert await host.write(0, new) == Response.SLVERR
        new[2] = old[2]
        assert await host.read(0, 4) == okay(new)
        old = new


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(
    kind=[
        *({"size": size} for size in range(8) if size != FULL),
        *({"burst": burst} for burst in (Burst.FIXED.value, Burst.WRAP.value, RESERVED)),
    ],
    pause=[never, often],
)
async def refuses_other_bursts(dut, kind, pause):
    host = Host(dut, pause=pause, raw=True)
    await host.begin()
    old = random_beats(4)
    assert await host.write(0, old) == Response.OKAY
    for beats in (1, 4):
        assert await host.write(0, random_beats(beats), **kind) == Response.SLVERR
        assert await host.read(0, beats, **kind) == [(0, Response.SLVERR)] * beats
    assert await host.read(0, 4) == okay(old)
    assert await host.write(0, old) == Response.OKAY


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(pause=[never, often])
async def knows_what_does_not_exist(dut, pause):
    """It answers DECERR beyond engines and chunks, also when a burst runs over the end."""
    host = Host(dut, pause=pause, raw=True)
    await host.begin()
    engine = host.worker.engine
    absent = [host.address(e) for e in range(host.worker.engines, 8)]
    absent += [host.address(0, c) for c in range(engine.chunks, 1 << engine.model.chunk_bits)]
    for address in absent:
        assert await host.write(address, random_beats(2)) == Response.DECERR
        assert await host.read(address, 2) == [(0, Response.DECERR)] * 2
        assert await host.write(address, [(0, 1)]) == Response.SLVERR
    end = host.address(host.worker.engines - 1, engine.chunks)
    beats = random_beats(4)
    if end in absent:
        assert await host.write(end - 2 * BEAT, beats) == Response.DECERR
        assert await host.read(end - 2 * BEAT, 4) == [*okay(beats[:2]), *[(0, Response.DECERR)] * 2]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def bursts_are_as_long_as_axi_lets_them(dut):
    """They go from one engine into the next and past the last; the host reads late."""
    host = Host(dut, raw=True)
    await host.begin()
    real = {at for first, size in host.spans for at in range(first, first + size, BEAT)}
    for beats in (MOST, 17, 33, 65):
        data = random_beats(beats)
        there = [BEAT * k in real for k in range(beats)]
        response = Response.OKAY if all(there) else Response.DECERR
        assert await host.write(0, data) == response
        host.r.pause = True
        await host.ask_read(0, beats)
        await ClockCycles(dut.clk, 40)
        host.r.pause = False
        assert await host.was_read(beats) == [
            (0, word, Response.OKAY) if is_there else (0, 0, Response.DECERR)
            for (word, _), is_there in zip(data, there, strict=True)
        ]
    # Nobody is asked for what lies behind, so that only the host holds it up.
    behind = max(real) + BEAT
    beats = min((1 << len(dut.s_axi_araddr)) - behind, 4096 - behind % 4096) // BEAT
    host.r.pause = True
    await host.ask_read(behind, beats)
    await ClockCycles(dut.clk, 40)
    host.r.pause = False
    assert await host.was_read(beats) == [(0, 0, Response.DECERR)] * beats
    assert await host.write(0, random_beats(256), size=2) == Response.SLVERR
    assert await host.read(0, 256, size=2) == [(0, Response.SLVERR)] * 256


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(pause=[never, often])
async def shows_nothing_while_training(dut, pause):
    host = Host(dut, pause=pause, raw=True)
    await host.begin()
    old = random_beats(5)
    assert await host.write(0, old) == Response.OKAY
    dut.allow.value = 0
    assert await host.write(0, random_beats(5)) == Response.SLVERR
    assert await host.read(0, 5) == [(0, Response.SLVERR)] * 5
    assert await host.write(host.address(7), random_beats(1)) == Response.SLVERR
    dut.allow.value = 1
    assert await host.read(0, 5) == okay(old)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def allow_may_change_within_a_burst(dut):
    """Each beat is done or refused; the burst tells if any was refused."""
    host = Host(dut, pause=rarely, raw=True)
    await host.begin()
    for _ in range(30):
        old, new = random_beats(12), random_beats(12)
        dut.allow.value = 1
        assert await host.write(0, old) == Response.OKAY
        await host.ask_write(0, new)
        answering = cocotb.start_soon(host.written())
        await ClockCycles(dut.clk, random.randrange(5, 30))
        dut.allow.value = 0
        _, response = await answering
        dut.allow.value = 1
        seen = [data for data, _ in await host.read(0, 12)]
        count = sum(a == b for a, (b, _) in zip(seen, new, strict=True))
        assert seen == [data for data, _ in new[:count] + old[count:]]
        assert response == (Response.OKAY if count == 12 else Response.SLVERR)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(pause=[never, often])
async def answers_in_order_with_identifiers(dut, pause):
    """Many bursts are under way, to all engines, good and bad ones mixed."""
    host = Host(dut, pause=pause, raw=True)
    await host.begin()
    bursts = []
    for _ in range(25):
        first, size = random.choice(host.spans)
        beats = random.randint(1, 6)
        address = first + BEAT * random.randrange(size // BEAT - beats + 1)
        kind = random.choice([{}, {}, {"burst": Burst.WRAP.value}])
        bursts.append((random.randrange(16), address, random_beats(beats), kind))
    content = {}
    for identifier, address, beats, kind in bursts:
        await host.ask_write(address, beats, identifier=identifier, **kind)
        if not kind:
            content |= {address + BEAT * k: data for k, (data, _) in enumerate(beats)}
    if pause is never:  # the first answer waits until all bursts could have come to their end
        host.b.pause = True
        await ClockCycles(dut.clk, 300)
        host.b.pause = False
    for identifier, _, _, kind in bursts:
        good = Response.SLVERR if kind else Response.OKAY
        assert await host.written() == (identifier, good)
    for identifier, address, beats, kind in bursts:
        await host.ask_read(address, len(beats), identifier=identifier, **kind)
    for identifier, address, beats, kind in bursts:
        for k, (name, data, response) in enumerate(await host.was_read(len(beats))):
            assert name == identifier
            if kind:
                assert (data, response) == (0, Response.SLVERR)
            else:
                assert (data, response) == (content[address + BEAT * k], Response.OKAY)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(beats=[1, 3])
async def waits_for_the_engines(dut, beats):
    """It does not answer before the engine has done its part, and is busy until then."""
    host = Host(dut, raw=True)
    await host.begin()
    await RisingEdge(dut.clk)
    everyone = (1 << host.worker.engines) - 1
    data = random_beats(beats)
    for ask, answer in (
        (host.ask_write(0, data), host.b),
        (host.ask_read(0, beats), host.r),
    ):
        assert not dut.busy.value
        dut.pause.value = everyone
        await ask
        await ClockCycles(dut.clk, 30)
        assert answer.empty()
        assert dut.busy.value
        dut.pause.value = 0
        await answer.wait()
        await ClockCycles(dut.clk, 40)
    assert not dut.busy.value
    assert await host.written() == (0, Response.OKAY)
    assert [data for _, data, _ in await host.was_read(beats)] == [word for word, _ in data]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def moves_a_beat_every_cycle(dut):
    """It does within a burst; engines that answer with the question take their own time."""
    host = Host(dut, raw=True)
    await host.begin()
    beats = random_beats(host.chunk_bytes * 2 // BEAT)
    moved = {"w": [], "r": []}

    async def watch():
        while True:
            await RisingEdge(dut.clk)
            for name, cycles in moved.items():
                valid, ready = (getattr(dut, f"s_axi_{name}{s}") for s in ("valid", "ready"))
                if valid.value and ready.value:
                    cycles.append(cycle())

    cocotb.start_soon(watch())
    await host.write(0, beats)
    assert await host.read(0, len(beats)) == okay(beats)
    for name, cycles in moved.items():
        if name == "w" or not host.together:
            assert cycles == list(range(cycles[0], cycles[0] + len(beats)))
