import cocotb
import numpy as np

from hdl.p4sgd.engine.chunk_walk import PAUSE
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS, EngineEvents
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.tile_engine import TileEngine
from hdl.p4sgd.engine.weight_store import CHUNKS
from hdl.p4sgd.engine.word_counter import WordCounter
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, mostly, never, often
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import LOW, TOP, Reference, Run, Trace, generator, wild
from tests.hdl.p4sgd.engine.tile_model import long_lengths
from tests.simulated import simulated

GROUP = 8  #: weights of a beat
SIZES = {
    "plain": EngineParams(lanes=32, chunks=20, max_tile=4),
    "l2": EngineParams(banks=2, lanes=16, chunks=7, max_tile=2, l2=True),
    "single": EngineParams(banks=1, lanes=128, chunks=3, max_tile=1, max_bits=1),
    "dsp": EngineParams(lanes=32, chunks=16, max_tile=8, dsp=True, pair_sums=True),
    "sixteen_dsp": EngineParams(banks=16, lanes=16, chunks=3, max_tile=16, max_bits=10, dsp=True),
}
SPENT = [name for name in ENGINE_EVENTS.members if name != "model_saturation"]  #: a cycle's

test_tile_engine = simulated(
    TileEngine,
    SIZES,
    __name__,
    short=["plain", "l2", "single"],
    test_filter="matches_golden|a_reset_leaves_nothing",
)


def test_tile_engine_waits():
    simulate(TileEngine(SIZES["plain"]), __name__, test_filter="mark_|goes_on|_cause|has_room")


def as_bits(eight):
    return sum((int(weight) % (1 << 32)) << 32 * k for k, weight in enumerate(eight))


class TileBench(Bench):
    """Feeds a run's words and weights, as a memory that has the model does."""

    async def start_run(self, run, *, extreme=False, **lengths):
        """Start a run on a model of its own; the hardware is told others as ``lengths``."""
        self.forget()
        self.run, self.extreme, self.tiles = run, extreme, 0
        self.reference = Reference(run, run.rng.integers(LOW, -LOW, run.chunks * run.params.lanes))
        self.reference.updated[-1], self.reference.updated[0] = TOP, LOW
        self.reference.architectural = self.reference.updated.copy()
        self.set(settings=run.settings | lengths)
        await self.wait(WordCounter.settings_latency)
        self.trace = Trace(self.dut, "events", "waiting", "words_valid")
        self.words.extend(run.words)
        self.again.extend(run.words)
        await self.strobe(start=1)

    def give(self, stream, weights):
        stream.extend([as_bits(eight) for eight in weights.reshape(-1, GROUP)])

    @property
    def mini_batches(self):
        """Return the tiles of each mini-batch, each its first micro-batch and a list of marks."""
        run, batches, first = self.run, [[]], 0
        while first < len(run.marks):
            end = min(first + run.tile, (first // run.micro_batches + 1) * run.micro_batches)
            batches[-1].append((first, run.marks[first:end]))
            first = end
            if run.marks[end - 1]["last"]:
                batches.append([])
        return batches[:-1]

    async def train(self):
        """Go through the tiles of each mini-batch.

        The deltas of a tile do not wait for the updates of the one before, as its weights do.
        """
        for tiles in self.mini_batches:
            self.give(self.updated, self.reference.updated)
            for _ in tiles:
                self.give(self.architectural, self.reference.architectural)
            before = await self.learn(*tiles[0])
            for tile in tiles[1:]:
                following = await self.learn(*tile)
                await self.check(before)
                self.give(self.updated, before)
                before = following
            await self.check(before)
        await self.finish_run()

    async def learn(self, first, marks):
        """Check the sums of a tile and give its deltas; return the model that it leaves."""
        sums = [self.reference.sums(j).tolist() for j in range(first, first + len(marks))]
        for j, (mark, expected) in enumerate(zip(marks, sums, strict=True), first):
            await self.partials.wait_for(j + 1)
            assert self.partials.beats[j] == expected, f"micro-batch {j}"
            rng, banks = self.run.rng, self.params.banks
            small = rng.integers(-(1 << 20), 1 << 20, banks)
            delta = wild(rng, 32, banks) if self.extreme else small
            self.reference.learn(j, delta, mark["last"])
            self.deltas.append({"delta": delta, "last": mark["last"], "final": mark["final"]})
        return self.reference.updated.copy()

    async def check(self, expected):
        """Check the chunks of the next tile that is written."""
        first, self.tiles = self.tiles * self.run.chunks, self.tiles + 1
        await self.results.wait_for(first + self.run.chunks)
        result = np.array(self.results.beats[first : first + self.run.chunks])
        assert (result.reshape(-1) == expected).all(), f"tile {self.tiles}"

    async def finish_run(self):
        """Check that nothing is left over, and how each cycle was spent."""
        await self.settle(30)
        assert len(self.partials.beats) == len(self.run.marks)
        assert len(self.results.beats) == self.tiles * self.run.chunks
        events, taken = self.events(), self.spent("word")
        assert sum(event["model_saturation"] for event in events) == self.reference.saturations
        assert len(taken) == len(self.run.words)
        shown = zip(events, self.trace["waiting"], self.trace["words_valid"], strict=False)
        for k, (event, waiting, valid) in enumerate(shown):
            assert sum(event[name] for name in SPENT) == (1 <= k <= taken[-1] + 1)
            assert not waiting or (PAUSE <= k < taken[-1] and not valid)
            assert waiting or valid or not event["memory_stall"]

    def events(self):
        """Return the events of each cycle from the start on."""
        return self.trace["events"][EngineEvents.latency :]

    def spent(self, name):
        """Return the cycles behind the start that were spent on it."""
        return [k for k, event in enumerate(self.events()) if event[name]]


@crossed(bits=[1, 3, 8], signed=[False, True], stalls=STALLS, extreme=[False, True], us=100)
async def matches_golden(dut, bits, signed, stalls, extreme):
    """All weights and sums are those of an engine that trains one micro-batch after the other."""
    params, rng = params_in_simulator(EngineParams), generator()
    bits, tile = min(bits, params.max_bits), 1 << int(rng.integers(params.max_tile.bit_length()))
    chunks = int(rng.integers(1, params.chunks, endpoint=True))
    samples = int(rng.integers(1, 3 * tile * params.banks, endpoint=True))
    batch = params.banks * tile * int(rng.integers(1, 3))
    l2_shift = 5 * params.l2
    bench = await TileBench(dut, stalls).begin()
    if bench.source_stall is often:
        bench.deltas.stall = mostly
    await bench.start_run(
        Run(params, rng, samples, chunks, bits, signed, batch, 2, l2_shift, tile), extreme=extreme
    )
    await bench.train()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_reset_leaves_nothing(dut):
    """A run that a reset of a cycle cuts, anywhere, leaves nothing to the next one."""
    params, rng = params_in_simulator(EngineParams), generator()
    bench = await TileBench(dut).begin()
    tile = params.max_tile
    for _ in range(40):
        bits = int(rng.integers(1, min(2, params.max_bits), endpoint=True))
        samples, chunks = 2 * tile * params.banks, int(rng.integers(1, 2, endpoint=True))
        run = Run(params, rng, samples, chunks, bits, False, samples, tile=tile)
        await bench.start_run(run, extreme=True)
        cut = cocotb.start_soon(bench.train())
        await bench.wait(int(rng.integers(15, 90)))
        cut.cancel()
        await bench.reset(1, moves=bool(rng.integers(2)))
        await bench.start_run(run, extreme=True)
        await bench.train()


@crossed(shape=[(1, 8), (2, 8), (4, 4), (8, 2)], us=100)
async def mark_words_a_cycle(dut, shape):
    """A word a cycle goes forward, and backward where a micro-batch has two bits or more."""
    params, rng = params_in_simulator(EngineParams), generator()
    bits, tile = shape[0], min(shape[1], params.max_tile)
    samples = tile * params.banks
    bench = await TileBench(dut).begin()
    await bench.start_run(Run(params, rng, samples, 8, bits, False, samples, tile=tile))
    await bench.train()
    forward, backward = (np.diff(stream.cycles) for stream in (bench.words, bench.again))
    pace = max(tile * bits, params.lanes // GROUP + 1)
    assert forward.sum() + 1 <= 8 * pace
    assert backward.sum() + 1 <= 8 * max(pace, tile * params.update_spacing)
    delay = bench.partials.cycles[-1] - bench.words.cycles[-1]
    assert delay == TileEngine(params).latencies["last word in to partials"]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def has_room_for_what_comes_early(dut):
    """Deltas of two tiles, and weights and results of as many chunks as stated, wait inside."""
    params, rng = params_in_simulator(EngineParams), generator()
    samples = 5 * params.max_tile * params.banks
    run = Run(params, rng, samples, params.chunks, 2, False, samples, tile=params.max_tile)
    bench, beats = await TileBench(dut).begin(), params.lanes // GROUP
    await bench.wait()
    bench.again.stall = bench.results.stall = bench.words.stall = bench.partials.stall = always
    await bench.start_run(run)
    bench.give(bench.updated, bench.reference.updated)
    (tiles,) = bench.mini_batches
    for _ in tiles:
        bench.give(bench.architectural, bench.reference.architectural)
    await bench.wait(40 * beats)
    for stream in (bench.architectural, bench.updated):  # and a whole chunk ahead of the queue
        assert len(stream.cycles) == (CHUNKS + 1) * beats
    bench.words.stall = never
    await bench.wait(2 * len(run.words))
    assert bench.events()[-1]["network_stall"]  # there is no room for further sums
    bench.partials.stall = never
    models = [await bench.learn(*tile) for tile in tiles]
    await bench.wait(40)
    assert len(bench.deltas.cycles) == 2 * params.max_tile
    bench.again.stall = never
    await bench.wait(40 * params.max_tile * run.bits)
    assert len(bench.again.cycles) == CHUNKS * params.max_tile * run.bits
    bench.results.stall = never
    for model in models[:-1]:
        await bench.check(model)
        bench.give(bench.updated, model)
    await bench.check(models[-1])
    await bench.finish_run()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_stall_has_its_cause(dut):
    """Only a mini-batch's first tile waits for updates, and only while deltas come for the network.

    The backward stage waits for no deltas in the pause between tiles.
    """
    params, rng = params_in_simulator(EngineParams), generator()
    batch = 2 * params.max_tile * params.banks
    run = Run(params, rng, 2 * batch, 2, 2, False, batch, tile=params.max_tile)
    bench = await TileBench(dut).begin()
    await bench.wait()
    bench.again.stall = always

    async def spends(name):
        await bench.wait(30)
        since = len(bench.events())
        await bench.wait(30)
        assert all(event[name] for event in bench.events()[since:])

    await bench.start_run(run)
    await spends("dependency_stall")
    bench.again.stall = never
    await spends("network_stall")
    (first, second), _ = bench.mini_batches
    model = bench.reference.updated
    bench.give(bench.architectural, model)
    models = [await bench.learn(*first)]
    await spends("memory_stall")
    bench.give(bench.architectural, model)
    models.append(await bench.learn(*second))
    await spends("dependency_stall")
    bench.give(bench.updated, model)
    await bench.check(models[0])
    bench.give(bench.updated, models[0])
    await bench.check(models[1])
    await spends("network_stall")
    ended = bench.again.cycles[-1] - bench.trace.first + 1
    starved = [event["network_stall"] for event in bench.events()[ended : ended + PAUSE + 9]]
    assert starved == [0] * PAUSE + [1] * 9


@cocotb.test(timeout_time=100, timeout_unit="us")
async def goes_on_by_each_bit_of_a_length(dut):
    """Each bit of a length alone makes a run go on behind its first tile, which has one word."""
    params, rng = params_in_simulator(EngineParams), generator()
    run = Run(params, rng, 2 * params.banks, 1, 1, False, 2 * params.banks)
    bench = await TileBench(dut).begin()
    for name, lengths in long_lengths():
        await bench.start_run(run, **lengths)
        for stream, chunks in ((bench.architectural, 1), (bench.updated, 2)):
            bench.give(stream, np.tile(bench.reference.updated, chunks))
        bench.deltas.extend([{"delta": [0] * params.banks}] * 2)
        await bench.wait(50)
        assert len(bench.results.beats) == 2
        assert bench.events()[-1]["memory_stall"] == (name != "epochs")
        await bench.reset()
