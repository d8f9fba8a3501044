from dataclasses import replace
from itertools import pairwise

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.engine_events import EngineEvents
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from sim.harness.streams import crossed
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import (
    LOW,
    TOP,
    Reference,
    Run,
    Trace,
    clock,
    generator,
    load,
    peek,
    pulse,
    put,
    set_up,
    start_run,
    wild,
)
from tests.simulated import simulated

SIZES = {
    "plain": EngineParams(lanes=32, chunks=16, fifo_words=64),
    "odd": EngineParams(banks=3, lanes=5, chunks=5, fifo_words=41, max_bits=7),
    "one": EngineParams(banks=1, lanes=1, chunks=1, fifo_words=8, max_bits=1),
    "parallel": EngineParams(banks=4, lanes=20, chunks=8, fifo_words=64, data_parallel=True),
    "wide_l2": EngineParams(banks=2, lanes=12, chunks=7, fifo_words=56, l2=True),
    "l2_dsp": EngineParams(banks=4, lanes=30, chunks=7, fifo_words=56, l2=True, dsp=True),
    "sixteen": EngineParams(banks=16, lanes=6, chunks=5, fifo_words=85, max_bits=16),
    "dsp": EngineParams(lanes=32, chunks=16, fifo_words=64, dsp=True),
    "sixteen_dsp": EngineParams(banks=16, lanes=9, chunks=3, fifo_words=40, dsp=True),
    "odd_dsp": EngineParams(banks=3, lanes=5, chunks=2, fifo_words=17, max_bits=7, dsp=True),
    "pair_sums": EngineParams(lanes=42, chunks=5, fifo_words=40, dsp=True, pair_sums=True),
}
SIZES |= {
    f"{name}_ping_pong": replace(SIZES[name], ping_pong=True)
    for name in ("plain", "odd", "parallel", "l2_dsp", "dsp", "odd_dsp")
}


FIFO_CYCLES = 8  #: a word that was taken stands at the word FIFO's other end by then

test_engine = simulated(
    Engine,
    SIZES,
    __name__,
    short=["plain", "odd", "parallel", "wide_l2", "odd_dsp", "odd_ping_pong", "l2_dsp_ping_pong"],
    test_filter="matches_golden",
)


@pytest.mark.parametrize("name", ["parallel", "parallel_ping_pong"])
def test_engine_exchanges(name):
    simulate(Engine(SIZES[name]), __name__, test_filter="exchanges_")


@pytest.mark.parametrize("sixteen", [False, True])
def test_engine_of_the_card(sixteen):
    """The u280 presets' engines, with few chunks, equal the golden model, also in cycles."""
    params = EngineParams(chunks=16, fifo_words=256, dsp=True, ping_pong=sixteen, pair_sums=sixteen)
    largest = "matches_golden/bits=(3|8)/.*/extreme=True"
    simulate(Engine(params), __name__, test_filter=f"{largest}|mark_")


def place_of(mark):
    """Return a micro-batch's place in the run, as it comes with its deltas."""
    return {name: mark[name] for name in ("first", "last", "final")}


def random_deltas(rng, banks, extreme):
    return wild(rng, 32, banks) if extreme else rng.integers(-(1 << 20), 1 << 20, banks)


async def train(dut, run, stalls, extreme):
    """Run with random weights and deltas, and compare everything with the golden model."""
    source, sink = stalls
    params, marks = run.params, run.marks
    await streams.start(dut)
    weights = run.rng.integers(LOW, -LOW, (run.chunks, params.lanes))
    weights[-1, -1], weights[0, 0] = TOP, LOW
    reference = Reference(run, weights)
    partials = streams.Sink(dut, "partials", stall=sink)
    await load(dut, params, weights)
    assert (await peek(dut, params, run.chunks) == weights).all()

    trace = Trace(dut, "events", "waiting", "words_valid", "deltas_valid", "deltas_ready")
    await start_run(dut, run)
    words = streams.Source(dut, "words", stall=source)
    words.extend(run.words)
    deltas = streams.Source(dut, "deltas", stall=source)
    for j, mark in enumerate(marks):
        await partials.wait_for(j + 1)
        assert partials.beats[j] == reference.sums(j).tolist(), f"micro-batch {j}"
        delta = random_deltas(run.rng, params.banks, extreme)
        reference.learn(j, delta, mark["last"])
        deltas.append({"delta": delta, **place_of(mark)})
    while not dut.finished.value:
        await RisingEdge(dut.clk)
    await clock(dut, 3)
    read = await peek(dut, params, run.chunks)
    assert (read.reshape(-1) == reference.architectural).all()
    assert len(partials.beats) == len(marks)  # weights that are read back are none
    events = events_of(trace)
    assert sum(event["model_saturation"] for event in events) == reference.saturations
    assert sum(event["word"] for event in events) == len(run.words)
    taken = [k for k, event in enumerate(events) if event["word"]]
    cycles = list(zip(events, trace["waiting"], trace["words_valid"], strict=False))
    for event, waiting, valid in cycles[taken[0] : taken[-1]]:
        assert waiting == (not valid)
        assert waiting or not event["memory_stall"]
    stalls_have_their_cause(run, trace)


def events_of(trace):
    """Return the events of each cycle, without those of the last ones, still under way."""
    return trace["events"][EngineEvents.latency :]


def stalls_have_their_cause(run, trace):
    """A stall is the network's only while words wait for nothing but deltas."""
    taken, provided = [0] * FIFO_CYCLES, 0
    ports = trace["deltas_valid"], trace["deltas_ready"]
    for event, valid, ready in zip(events_of(trace), *ports, strict=False):
        if valid:
            assert not event["network_stall"]
        elif taken[-FIFO_CYCLES] > provided * run.bits * run.chunks:
            assert not event["dependency_stall"]
            assert not event["fifo_stall"]
        taken.append(taken[-1] + event["word"])
        provided += valid and ready


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    bits=[1, 3, 4, 8], signed=[False, True], stalls=streams.STALLS, extreme=[False, True]
)
async def matches_golden(dut, bits, signed, stalls, extreme):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits = max(params.min_bits, min(bits, params.max_bits))
    chunks = int(rng.integers(1, min(params.chunks, params.fifo_words // bits), endpoint=True))
    samples = int(rng.integers(1, 6 * params.banks))
    batch = params.banks * int(rng.integers(1, 4))
    l2_shift = 5 * params.l2
    run = Run(params, rng, samples, chunks, bits, signed, batch, epochs=2, l2_shift=l2_shift)
    await train(dut, run, stalls, extreme)


async def share(dut, run, stalls, from_zero):
    """Run, give the model away after each mini-batch, and go on with another one."""
    source, sink = stalls
    params, rng = run.params, run.rng
    await streams.start(dut)
    put(dut, exchanging=0, refill=0)
    reference = Reference(run, rng.integers(LOW, -LOW, (run.chunks, params.lanes)))
    await load(dut, params, reference.architectural.reshape(run.chunks, -1))
    trace = Trace(dut, "updated")
    await set_up(dut, run.settings | {"data_parallel": 1, "from_zero": from_zero})
    await pulse(dut, "start")
    words = streams.Source(dut, "words", stall=source)
    words.extend(run.words)
    deltas = streams.Source(dut, "deltas", stall=source)
    partials = streams.Sink(dut, "partials", stall=sink)
    size = run.bits * run.chunks
    for j, mark in enumerate(run.marks):
        await partials.wait_for(j + 1)
        assert partials.beats[j] == reference.sums(j).tolist(), f"micro-batch {j}"
        if mark["first"] and from_zero:
            reference.updated = np.zeros_like(reference.updated)
        delta = random_deltas(rng, params.banks, extreme=rng.random() < 0.5)
        reference.learn(j, delta, mark["last"])
        deltas.append({"delta": delta, **place_of(mark)})
        if not mark["last"]:
            continue
        while not dut.updated.value:
            await RisingEdge(dut.clk)
        await clock(dut, int(rng.integers(1, 9)))
        put(dut, exchanging=1)
        provided = await peek(dut, params, run.chunks, stall=sink)
        assert (provided.reshape(-1) == reference.architectural).all()
        new = rng.integers(LOW, -LOW, provided.shape)
        await load(dut, params, new, stall=source)
        await clock(dut, 20)
        assert len(words.cycles) == (j + 1) * size
        reference.updated = new.reshape(-1)
        reference.architectural = reference.updated.copy()
        put(dut, exchanging=0, refill=1)
        await clock(dut)
        put(dut, refill=0)
    await clock(dut, 3)
    assert dut.finished.value
    assert len(trace.when("updated")) == sum(mark["last"] for mark in run.marks)
    assert len(partials.beats) == len(run.marks)
    assert (await peek(dut, params, run.chunks) == new).all()


@crossed(bits=[1, 4, 8], stalls=streams.STALLS, from_zero=[False, True], us=100)
async def exchanges_models(dut, bits, stalls, from_zero):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits = max(bits, params.min_bits)
    chunks = int(rng.integers(1, min(params.chunks, params.fifo_words // bits), endpoint=True))
    samples = int(rng.integers(1, 6 * params.banks))
    batch = params.banks * int(rng.integers(1, 4))
    run = Run(params, rng, samples, chunks, bits, True, batch, epochs=2)
    await share(dut, run, stalls, from_zero)


class Cycles:
    """A run without stalls, whose deltas follow partial activations, with when all moved."""

    def __init__(self, dut, run):
        self.dut, self.run = dut, run
        self.size = run.bits * run.chunks
        self.delta_valid = []  #: when each delta was first offered

    async def go(self):
        dut = self.dut
        await streams.start(dut)
        trace = Trace(dut, "deltas_valid")
        await start_run(dut, self.run)
        self.words = streams.Source(dut, "words")
        self.words.extend(self.run.words)
        self.deltas = streams.Source(dut, "deltas")
        self.partials = streams.Sink(dut, "partials")
        for j, mark in enumerate(self.run.marks):
            await self.partials.wait_for(j + 1)
            delta = np.zeros(self.run.params.banks, int)
            self.deltas.append({"delta": delta, **place_of(mark)})
        while not dut.finished.value:
            await RisingEdge(dut.clk)
        # A delta is offered in the cycle after the one before it was taken, or later.
        valid = trace.when("deltas_valid")
        taken = [0, *self.deltas.cycles]
        self.delta_valid = [next(v for v in valid if v > before) for before in taken[:-1]]
        return self


def run_of(micro_batches, chunks, bits, batch):
    """Return a run with ``batch`` in micro-batches."""
    params = params_in_simulator(EngineParams)
    banks, bits = params.banks, max(bits, params.min_bits)
    return Run(params, generator(), micro_batches * banks, chunks, bits, False, batch * banks)


def steps(cycles):
    return [after - before for before, after in pairwise(cycles)]


@crossed(size=[(1, 1), (1, 4), (3, 1), (6, 1), (2, 3), (2, 8), (16, 4)], us=50)
async def mark_micro_batch(dut, size):
    """A word is taken per cycle; a micro-batch takes C s cycles, or the update loop's if more."""
    chunks, bits = size
    count = 12
    seen = await Cycles(dut, run_of(count, chunks, bits, count)).go()
    words = seen.size
    loop = max(words, params_in_simulator(EngineParams).update_loop)
    if words == loop:
        assert steps(seen.words.cycles) == [1] * (count * words - 1)
        assert steps(seen.partials.cycles) == [words] * (count - 1)
    assert steps(seen.deltas.cycles) == [loop] * (count - 1)
    assert loop <= max(words, 6)
    dut._log.info("C s = %d: %d cycles a micro-batch", words, loop)


@crossed(size=[(1, 1), (1, 4), (1, 8), (16, 4)], us=50)
async def mark_partials(dut, size):
    """From a micro-batch's last word to its partial activations, at most 12 cycles pass."""
    seen = await Cycles(dut, run_of(8, *size, 8)).go()
    ends = seen.words.cycles[seen.size - 1 :: seen.size]
    delays = [shown - end for shown, end in zip(seen.partials.cycles, ends, strict=True)]
    dut._log.info("last word -> partial activations: %s cycles", set(delays))
    assert max(delays) <= 12


@crossed(bits=[1, 4, 8], chunks=[1, 4], batch=[1, 2], us=50)
async def mark_turnaround(dut, bits, chunks, batch):
    """From delta to the next mini-batch's first word, 12 + s cycles pass at most."""
    count = 4 * batch
    seen = await Cycles(dut, run_of(count, chunks, bits, batch)).go()
    starts = seen.words.cycles[:: seen.size][batch::batch]
    requested = seen.delta_valid[batch - 1 :: batch]
    delays = [start - when for start, when in zip(starts, requested, strict=False)]
    dut._log.info("s = %d: delta -> next mini-batch: %s cycles", seen.run.bits, delays)
    assert len(delays) == 3
    assert max(delays) <= 12 + seen.run.bits
