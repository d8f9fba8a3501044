import cocotb
import numpy as np

from hdl.p4sgd.engine.engine_events import EngineEvents
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.tile_engine import TileEngine
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import LOW, TOP, Reference, Run, Trace, clock, generator, start_run, wild
from tests.simulated import simulated

GROUP = 8  #: weights of a beat
SIZES = {
    "plain": EngineParams(lanes=32, chunks=16, max_tile=4),
    "l2": EngineParams(banks=2, lanes=16, chunks=7, max_tile=2, l2=True),
    "single": EngineParams(banks=1, lanes=128, chunks=3, max_tile=1, max_bits=1),
    "dsp": EngineParams(lanes=32, chunks=16, max_tile=8, dsp=True, pair_sums=True),
    "sixteen_dsp": EngineParams(banks=16, lanes=16, chunks=3, max_tile=16, max_bits=10, dsp=True),
}

test_tile_engine = simulated(
    TileEngine, SIZES, __name__, short=["plain", "l2", "single"], test_filter="matches_golden"
)


def test_tile_engine_keeps_its_rate():
    simulate(TileEngine(SIZES["plain"]), __name__, test_filter="mark_")


def as_bits(eight):
    return sum((int(weight) % (1 << 32)) << 32 * k for k, weight in enumerate(eight))


class TileBench:
    """Feeds a run's words and weights, as a memory that has the model does."""

    def __init__(self, dut, run, stalls):
        source, sink = stalls
        self.run, self.params, self.tiles = run, run.params, 0
        self.reference = Reference(run, run.rng.integers(LOW, -LOW, run.chunks * run.params.lanes))
        self.reference.updated[-1], self.reference.updated[0] = TOP, LOW
        self.reference.architectural = self.reference.updated.copy()
        self.words, self.again, self.architectural, self.updated, self.deltas = (
            streams.Source(dut, name, stall=source)
            for name in ("words", "again", "architectural", "updated", "deltas")
        )
        self.partials, self.results = (
            streams.Sink(dut, name, stall=sink) for name in ("partials", "results")
        )
        for word in run.words:
            self.words.append(word)
            self.again.append(word)

    def give(self, stream, weights):
        for eight in weights.reshape(-1, GROUP):
            stream.append(as_bits(eight))

    async def mini_batch(self, tiles, extreme):
        """Go through the tiles of a mini-batch, each a first micro-batch and a list of marks.

        The deltas of a tile do not wait for the updates of the one before, as its weights do.
        """
        self.give(self.updated, self.reference.updated)
        for _ in tiles:
            self.give(self.architectural, self.reference.architectural)
        expected = []
        for first, marks in tiles:
            sums = [self.reference.sums(first + k).tolist() for k in range(len(marks))]
            for k, mark in enumerate(marks):
                await self.partials.wait_for(first + k + 1)
                assert self.partials.beats[first + k] == sums[k], f"micro-batch {first + k}"
                self.learn(first + k, mark, extreme)
            if expected:
                await self.check(expected[-1])
                self.give(self.updated, expected[-1])
            expected.append(self.reference.updated.copy())
        await self.check(expected[-1])

    def learn(self, j, mark, extreme):
        rng, banks = self.run.rng, self.params.banks
        delta = wild(rng, 32, banks) if extreme else rng.integers(-(1 << 20), 1 << 20, banks)
        self.reference.learn(j, delta, mark["last"])
        self.deltas.append({"delta": delta, "last": mark["last"], "final": mark["final"]})

    async def check(self, expected):
        """Check the chunks of the next tile that is written."""
        self.tiles += 1
        await self.results.wait_for(self.tiles * self.run.chunks)
        result = np.array(
            self.results.beats[(self.tiles - 1) * self.run.chunks :][: self.run.chunks]
        )
        assert (result.reshape(-1) == expected).all(), f"tile {self.tiles}"


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    bits=[1, 3, 8], signed=[False, True], stalls=streams.STALLS, extreme=[False, True]
)
async def matches_golden(dut, bits, signed, stalls, extreme):
    """All weights and sums are those of an engine that trains one micro-batch after the other."""
    params, rng = params_in_simulator(EngineParams), generator()
    bits, tile = min(bits, params.max_bits), 1 << int(rng.integers(params.max_tile.bit_length()))
    chunks = int(rng.integers(1, params.chunks, endpoint=True))
    samples = int(rng.integers(1, 3 * tile * params.banks, endpoint=True))
    batch = params.banks * tile * int(rng.integers(1, 3))
    l2_shift = 5 * params.l2
    run = Run(params, rng, samples, chunks, bits, signed, batch, 2, l2_shift, tile)
    await streams.start(dut)
    bench = TileBench(dut, run, stalls)
    trace = Trace(dut, "events", "waiting")
    await start_run(dut, run)
    first, tiles = 0, []
    while first < len(run.marks):
        end = min(first + tile, (first // run.micro_batches + 1) * run.micro_batches)
        tiles.append((first, run.marks[first:end]))
        first = end
        if run.marks[end - 1]["last"]:
            await bench.mini_batch(tiles, extreme)
            tiles = []
    await clock(dut, 6)
    assert len(bench.partials.beats) == len(run.marks)
    assert not bench.words.missing
    assert not bench.again.missing
    events = trace["events"][EngineEvents.latency :]
    assert sum(event["model_saturation"] for event in events) == bench.reference.saturations
    assert sum(event["word"] for event in events) == len(run.words)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(shape=[(1, 8), (2, 8), (4, 4), (8, 2)])
async def mark_words_a_cycle(dut, shape):
    """A word a cycle goes forward, and backward where a micro-batch has two bits or more."""
    params, rng = params_in_simulator(EngineParams), generator()
    bits, tile = shape[0], min(shape[1], params.max_tile)
    run = Run(params, rng, tile * params.banks, 8, bits, False, tile * params.banks, tile=tile)
    await streams.start(dut)
    bench = TileBench(dut, run, (streams.never, streams.never))
    await start_run(dut, run)
    await bench.mini_batch([(0, run.marks)], extreme=False)
    forward, backward = (np.diff(stream.cycles) for stream in (bench.words, bench.again))
    pace = max(tile * bits, params.lanes // GROUP + 1)
    assert forward.sum() + 1 <= 8 * pace
    assert backward.sum() + 1 <= 8 * max(pace, tile * params.update_spacing)
    delay = bench.partials.cycles[-1] - bench.words.cycles[-1]
    assert delay == TileEngine(params).latencies["last word in to partials"]
