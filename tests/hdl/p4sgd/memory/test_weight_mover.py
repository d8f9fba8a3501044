import random

import cocotb
import numpy as np
import pytest
from amaranth.lib.wiring import In, connect, flipped

from hdl.common.axi import Response
from hdl.common.component import Component
from hdl.p4sgd.engine.params import PORT_BITS, EngineParams
from hdl.p4sgd.memory.weight_mover import WeightMover
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, cycle, never
from sim.harness.verilator import simulate
from sim.p4sgd.surroundings.worker_system import weight_memory_params
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, ram_file
from tests.hdl.p4sgd.bench import Run, generator
from tests.hdl.p4sgd.engine.tile_model import long_lengths
from tests.long import short_and_long

GROUP = 8  #: weights of a beat
SIZES = [
    WorkerParams(
        engines=1, engine=EngineParams(lanes=32, chunks=72, max_tile=4), prefetch_beats=32
    ),
    WorkerParams(
        engines=1, engine=EngineParams(lanes=128, chunks=3, max_tile=1), prefetch_beats=64
    ),
]
SLOW = 900  #: cycles that a slow memory takes to answer


class MoverOnMemory(Component):
    """A mover with its memory; all its other ports are the component's."""

    groups_of = WeightMover  #: of functional coverage

    def __init__(self, params):
        self.mover = WeightMover(params)
        members = dict(self.mover.signature.members)
        del members["axi"]
        self.kept = tuple(members)
        super().__init__(params, members | {"memory": In(weight_memory_params(params).settings)})

    def build(self, m):
        m.submodules.mover = mover = self.mover
        m.submodules.memory = memory = AxiRam(weight_memory_params(self.params))
        connect(m, mover.axi, memory.axi)
        m.d.comb += memory.settings.eq(self.memory)
        for name in self.kept:
            own, part = getattr(self, name), getattr(mover, name)
            member = self.signature.members[name]
            if member.is_signature:
                connect(m, flipped(own), part)
            else:
                m.d.comb += part.eq(own) if member.flow == In else own.eq(part)


@pytest.mark.parametrize(
    "worker", short_and_long(SIZES, SIZES[:1]), ids=lambda worker: worker.suffix
)
def test_weight_mover(worker, tmp_path, rng):
    path = tmp_path / "memory.bin"
    path.write_bytes(rng.bytes(1 << worker.weight_address_bits))
    files = [ram_file(0, path)]
    simulate(MoverOnMemory(worker), __name__, extra_sources=[RAM_ARRAY], plusargs=files)


class MoverBench(Bench):
    """Has a mover, and a memory that is as slow as it says."""

    def __init__(self, dut, stalls, **memory):
        self.memory = {"read_latency": 20, "write_latency": 9, "seed": random.getrandbits(31)}
        super().__init__(dut, stalls, memory=self.memory | memory)
        self.rng, self.engine = generator(), self.params.engine
        self.failed, self.said = self.record("failed"), self.tally("bus")

    def drawn(self, chunks, tile=1, batches=4):
        """Draw a run of tiles, of few mini-batches."""
        batch = self.engine.banks * tile * int(self.rng.integers(1, 4))
        samples = int(self.rng.integers(1, batches * batch))
        epochs = int(self.rng.integers(1, 3))
        return Run(self.engine, self.rng, samples, chunks, 2, False, batch, epochs, tile=tile)

    def draw(self, chunks):
        return self.rng.integers(-(1 << 31), 1 << 31, (chunks, self.engine.lanes))

    async def store(self, model):
        """Write a model through the host's port."""
        for chunk, row in enumerate(model):
            for group, eight in enumerate(row.reshape(-1, GROUP)):
                self.load.append({"chunk": chunk, "group": group, "weights": eight.tolist()})
        while self.load.missing:
            await self.wait()

    async def model(self, chunks):
        """Read the model through the host's port."""
        groups = self.engine.lanes // GROUP
        self.peek.extend([{"chunk": c, "group": g} for c in range(chunks) for g in range(groups)])
        await self.peeked.wait_for(chunks * groups)
        return np.array(list(self.peeked.beats)[-chunks * groups :]).reshape(chunks, -1)

    async def train(self, run, model):
        """Carry out a run in which updates are random weights; return the last ones."""
        self.forget()
        self.set(settings=run.settings)
        await self.wait(4)
        await self.strobe(start=1)
        await self.wait()
        assert not self.dut.finished.value
        updated = architectural = model
        for number, first in enumerate(tiles_of(run)):
            if run.marks[first]["first"]:
                architectural = updated
            for name, expected in (("architectural", architectural), ("updated", updated)):
                stream, size = getattr(self, name), expected.size // GROUP
                await stream.wait_for((number + 1) * size)
                beats = list(stream.beats)[number * size : (number + 1) * size]
                assert [weights_of(beat) for beat in beats] == beats_of(expected), name
            updated = self.draw(len(model))
            self.results.extend([chunk.tolist() for chunk in updated])
        await self.until("finished", 1)
        return updated

    async def halt(self):
        """Halt it until it rests; what it had to move is dropped."""
        self.architectural.let_go()
        self.updated.let_go()
        self.architectural.stall = self.updated.stall = always
        self.set(start=0, halt=1)
        await self.wait(2)
        self.results.abandon()
        shown = [self.record(f"{name}_valid") for name in ("architectural", "updated")]
        early = self.draw(1)[0, :GROUP].tolist()  # the host does not wait until it rests
        self.load.append({"chunk": 0, "group": 0, "weights": early})
        await self.until("busy", 0)
        assert not self.value("bus")["owes"]
        assert not self.peeked.beats
        assert not any(record.beats for record in shown)
        self.architectural.stall = self.updated.stall = self.sink_stall
        self.set(halt=0)
        await self.settle()
        self.peek.append({"chunk": 0, "group": 0})
        await self.peeked.wait_for(1)
        assert self.peeked.beats == [early]
        self.forget()

    async def works(self, chunks):
        """Check that weights come and go, and that a run is right; return what it left."""
        model = self.draw(chunks)
        await self.store(model)
        assert (await self.model(chunks) == model).all()
        model = await self.train(self.drawn(chunks), model)
        assert (await self.model(chunks) == model).all()
        return model


@crossed(stalls=STALLS, stall=[0, 60], tile=[1, 2, 4], ms=2)
async def moves_each_tile(dut, stalls, stall, tile):
    """Every tile gets what the one before it left, and the host what the last one did.

    Without stalls a chunk is written in two cycles more than it has beats.
    """
    rates = dict.fromkeys(("ar_stall", "r_stall", "aw_stall", "w_stall", "b_stall"), stall)
    bench = MoverBench(dut, stalls, **rates)
    engine, rng = bench.engine, bench.rng
    tile, chunks = min(tile, engine.max_tile), int(rng.integers(1, engine.chunks, endpoint=True))
    run = bench.drawn(min(chunks, 8), tile)
    await bench.begin()
    model = bench.draw(run.chunks)
    await bench.store(model)
    for _ in range(2):
        busy = bench.record("busy")
        model = await bench.train(run, model)
        assert busy.cycles == list(range(busy.cycles[0], cycle() - 2))
        assert not dut.busy.value
        assert not dut.results_ready.value
        if stalls.absent and not stall:
            taken = np.reshape(bench.results.cycles, (-1, run.chunks))
            assert (np.diff(taken) == bench.params.chunk_beats + 2).all()
        assert (await bench.model(run.chunks) == model).all()
        assert dut.finished.value
    assert not bench.failed.beats
    assert not bench.said["broken"]
    assert not bench.said["dropped"]


@crossed(stall=[0, 200], ms=2)
async def halts_at_any_moment(dut, stall):
    """What it had to move is dropped, and nothing is left to the host or to the next run."""
    bench = await MoverBench(dut, (never, never), w_stall=stall, ar_stall=stall).begin()
    model = await bench.works(chunks := 2)
    for cycles in [*range(20), *random.sample(range(20, 200), 10), None, None]:
        bench.forget()
        run = bench.drawn(chunks)
        cut = cocotb.start_soon(bench.train(run, model))
        while cycles is None and len(bench.results.cycles) < chunks * len(tiles_of(run)):
            await bench.wait()  # the last answer is to come
        await bench.wait(5 if cycles is None else cycles)
        cut.cancel()
        await bench.halt()
        assert cycles is not None or not dut.finished.value
        model = await bench.works(chunks)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_in_a_run_leaves_nothing(dut):
    bench = await MoverBench(dut, (never, never)).begin()
    for cycles in (5, 30, 60, 110, 2000):
        cut = cocotb.start_soon(bench.train(bench.drawn(1), await bench.works(1)))
        await bench.wait(cycles)
        cut.cancel()
        bench.set(start=0)
        await bench.reset(1)
        for _ in range(3):
            await bench.wait()
            assert not dut.finished.value
        bench.load.append({"chunk": 0, "group": 0, "weights": [0] * GROUP})
        await bench.wait(int(bench.rng.integers(2, 12)))
        await bench.reset(1)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def has_room_for_what_it_reads(dut):
    """Nobody takes what it has read for a while; then all is there, and nothing is left out.

    Nor of what is written, although more results come than writes may be under way.
    """
    bench = await MoverBench(dut, (never, never), write_latency=SLOW // 2).begin()
    chunks = bench.engine.chunks
    model = bench.draw(chunks)
    await bench.store(model)
    run = bench.drawn(chunks, batches=2)
    sinks = bench.architectural, bench.updated, bench.peeked
    for sink in sinks:
        sink.stall = always
    result = cocotb.start_soon(bench.train(run, model))
    await bench.wait(20 * bench.params.prefetch_beats)
    for sink in sinks[:2]:
        sink.stall = never
    model = await result
    beats = min(bench.params.prefetch_beats, chunks * bench.params.chunk_beats)
    for sink in sinks[:2]:  # as many as there is room for were there
        assert sink.cycles[:beats] == list(range(sink.cycles[0], sink.cycles[0] + beats))
    shown = cocotb.start_soon(bench.model(chunks))
    await bench.wait(8 * bench.params.prefetch_beats)
    bench.peeked.stall = never
    assert (await shown == model).all()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_host_waits_for_the_end_of_a_run(dut):
    bench = await MoverBench(dut, (never, never)).begin()
    model = bench.draw(1)
    await bench.store(model)
    run = cocotb.start_soon(bench.train(bench.drawn(1), model))
    await bench.wait(10)
    bench.load.append({"chunk": 0, "group": 1, "weights": [5] * GROUP})
    bench.peek.append({"chunk": 0, "group": 0})
    finished = bench.record("finished")
    model = await run
    await bench.settle()
    for stream in (bench.load, bench.peek):  # the mover has rested for two cycles by then
        assert stream.cycles[0] >= finished.cycles[0] - 2
    assert bench.peeked.beats == [model[0, :GROUP].tolist()]
    model[0, GROUP : 2 * GROUP] = 5
    bench.forget()
    assert (await bench.model(1) == model).all()


@crossed(channel=["read", "write"], ms=2)
async def says_what_fails(dut, channel):
    """A beat, or a burst written, that memory does not answer with OKAY is said once."""
    bench = await MoverBench(dut, (never, never)).begin()
    failing = {f"fail_{channel}": 1, "fail_response": Response.SLVERR}
    half = (1 << bench.params.weight_address_bits) // (2 * PORT_BITS // 8)
    await bench.store(bench.draw(1))
    assert not bench.failed.beats
    last = bench.engine.lanes // GROUP - 1
    for beat in (last, half + last):  # of which one is in the half that the host reaches
        bench.set(memory=bench.memory | failing | {f"fail_{channel}_beat": beat})
        await (bench.model(1) if channel == "read" else bench.store(bench.draw(1)))
        await bench.settle()
        bench.forget()
    assert len(bench.failed.beats) == 1


@crossed(channel=["read", "write"], ms=2)
async def gives_up_a_slow_memory(dut, channel):
    """Until the bus is revived, everything fails at once; what comes late is dropped."""
    bench = await MoverBench(dut, (never, never)).begin()
    chunks = bench.engine.chunks
    await bench.store(bench.draw(chunks))
    bench.set(memory=bench.memory | {f"{channel}_latency": SLOW})
    model = bench.draw(chunks)
    if channel == "write":  # as many as may be under way
        bench.results.extend([chunk.tolist() for chunk in model])
    bench.set(settings=bench.drawn(chunks).settings)
    await bench.wait(4)
    await bench.strobe(start=1)
    await bench.wait(SLOW // 2)
    assert not bench.failed.beats
    for _ in range(2):
        await bench.strobe(watch={"tick": 1})
        await bench.wait(3)
    assert bench.value("bus") == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    await bench.wait(20)
    assert bench.failed.beats
    bench.set(halt=1)
    bench.results.abandon()
    for sink in (bench.architectural, bench.updated):
        sink.let_go()
    await bench.until("busy", 0)
    bench.set(halt=0)
    if channel == "write":
        failures = len(bench.failed.beats)
        await bench.store(bench.draw(1))
        await bench.settle()
        assert len(bench.failed.beats) - failures == bench.engine.lanes // GROUP
    await bench.wait(2 * SLOW)
    assert bench.said["dropped"]
    bench.set(memory=bench.memory)
    await bench.strobe(watch={"revive": 1})
    await bench.wait(4)
    assert not any(bench.value("bus").values())
    await bench.works(2)


def weights_of(beat):
    """Return the signed weights of a beat."""
    return [((beat >> 32 * k) + (1 << 31)) % (1 << 32) - (1 << 31) for k in range(GROUP)]


def beats_of(weights):
    return weights.reshape(-1, GROUP).tolist()


def tiles_of(run):
    """Return the first micro-batch of each tile."""
    starts = range(0, run.micro_batches, run.tile)
    return [epoch * run.micro_batches + start for epoch in range(run.epochs) for start in starts]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def goes_on_by_each_bit_of_a_length(dut):
    """Each bit of a length alone makes a run go on behind its first tile, of one chunk."""
    bench = await MoverBench(dut, (never, never)).begin()
    for name, lengths in long_lengths():
        model, (first, second) = await bench.works(1), bench.draw(2)
        bench.set(settings=bench.drawn(1).settings | lengths | {"tile": 0})
        bench.forget()
        bench.results.append(first.tolist())
        await bench.wait(4)
        await bench.strobe(start=1)
        await bench.wait(150)
        bench.results.append(second.tolist())
        await bench.wait(10)
        assert len(bench.results.cycles) == 2
        before = first if name == "epochs" else model[0]  # a mini-batch later, or not
        for stream, chunks in ((bench.architectural, before), (bench.updated, first)):
            beats = beats_of(np.array([model[0], chunks]))
            assert [weights_of(beat) for beat in stream.beats][: len(beats)] == beats
        await bench.halt()
