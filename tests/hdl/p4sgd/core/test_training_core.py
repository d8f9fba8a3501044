import random
from collections import deque
from dataclasses import asdict, replace

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import module_name
from hdl.p4sgd.core.group_params import GroupParams
from hdl.p4sgd.core.training_core import TrainingCore
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.word_counter import WordCounter
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_latencies import OF_CLASSES, OVER_DIES
from hdl.p4sgd.worker_params import Loss, WorkerParams
from sim.golden.arithmetic import Step
from sim.harness import streams
from sim.harness.streams import crossed
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden import sgd as golden
from sim.p4sgd.golden.classes import train_classes
from sim.workloads import layout
from tests.hdl.p4sgd.bench import (
    ONE,
    Trace,
    as_numbers,
    clock,
    generator,
    lingers,
    load,
    peek,
    pulse,
    put,
    random_codes,
)
from tests.hdl.p4sgd.bench import wild as any_numbers
from tests.long import short_and_long

ENGINE = EngineParams(lanes=32, chunks=4, fifo_words=40, l2=True)
SIZES = {
    "one die": WorkerParams(engines=2, engine=ENGINE),
    "three dies": WorkerParams(engines=4, engine=ENGINE, slrs=3),
    "exchanging": WorkerParams(engines=2, engine=replace(ENGINE, l2=False, data_parallel=True)),
    "three classes": WorkerParams(engines=6, classes=3, engine=ENGINE),
    "five classes on two dies": WorkerParams(engines=10, classes=5, engine=ENGINE, slrs=2),
}
#: cycles by dies: two crossings, out and back, an adder a die, and a register at each fork beyond
APART = {1: 0, 2: 2 * 2 + 1 + 1, 3: 2 * 2 * 2 + 3 + 2}
EPOCHS = 2


@pytest.mark.parametrize("size", short_and_long(SIZES, ["one die", "exchanging", "three classes"]))
def test_training_core(size):
    params = SIZES[size]
    blocks = [module_name(Engine(params.engine))]
    tests = "trains_|mark_|reports_|keeps_" + "|exchanges_" * params.engine.data_parallel
    simulate(TrainingCore(params), __name__, hier_blocks=blocks, test_filter=tests)


@pytest.mark.long
def test_three_dies_in_short():
    """It tests cycles and signs, and trains with everything late and full."""
    params = SIZES["three dies"]
    blocks = [module_name(Engine(params.engine))]
    tests = "mark_|reports_|keeps_|trains_.*/wild=True/delay=50/stalls=BUSY"
    simulate(TrainingCore(params), __name__, hier_blocks=blocks, test_filter=tests)


class Job:
    """Has a small data set, weights, and what the golden model makes of them."""

    def __init__(self, params, rng, loss, wild):
        engine = params.engine
        bits = int(rng.integers(1, 8, endpoint=True))
        chunks = int(rng.integers(1, min(engine.chunks, engine.fifo_words // bits), endpoint=True))
        self.params, self.chunks = params, chunks
        self.geometry = layout.Geometry(
            engines=params.sets, banks=engine.banks, lanes=engine.lanes, classes=params.classes
        )
        batch = 8 * int(rng.integers(1, 3, endpoint=True))
        self.training = golden.Training(
            loss=golden.Loss[loss.name],
            bits=bits,
            signed=bool(rng.integers(2)),
            batch=batch,
            banks=engine.banks,
            step=Step.of(8.0 if wild else 0.01 / batch),
            l2_shift=6 * engine.l2,
        )
        self.loss = {"loss": loss, **asdict(self.training.step)}
        samples, features = int(rng.integers(1, 40)), chunks * engine.lanes * params.sets
        self.codes = random_codes(rng, bits, self.training.signed, (samples, features))
        several = [params.classes] * (params.classes > 1)
        self.labels = rng.integers(0, 2, (*several, samples)) * ONE
        if wild and loss is Loss.LINEAR:
            self.labels = any_numbers(rng, 32, (*several, samples))
        scale = 31 if wild else 20
        self.weights = rng.integers(-(1 << scale), 1 << scale, (*several, features))
        self.weights[..., :3] = -(1 << scale), (1 << scale) - 1, 0
        self.micro_batches = self.geometry.micro_batches(samples)
        self.settings = {
            "bits": bits,
            "signed_features": self.training.signed,
            "chunks": chunks,
            "batch_micro_batches": batch // engine.banks,
            "epoch_micro_batches": self.micro_batches,
            "tail_samples": (samples - 1) % engine.banks + 1,
            "epochs": EPOCHS,
            "l2_shift": self.training.l2_shift,
        }

    def words(self, part):
        packed = layout.pack(self.codes, self.training.bits, self.geometry, 0, part)
        return as_numbers(packed) * EPOCHS

    def label_beats(self):
        absent = self.micro_batches * self.geometry.banks - self.labels.shape[-1]
        return (
            beats(self, np.pad(self.labels.T, [(0, absent), (0, 0)][: self.labels.ndim])) * EPOCHS
        )

    def trained(self):
        """Return weights and saturations after the run."""
        features = self.weights.shape[-1]
        parts = golden.Parts(np.zeros(features, int), self.geometry.group_of(features))
        weights, total = self.weights, golden.Saturations()
        for _ in range(EPOCHS):
            weights, counts = train_classes(
                lambda *own: golden.epoch(self.codes, *own, self.training, parts),
                self.labels,
                weights,
            )
            total += counts
        return weights, total

    def shares(self, weights):
        """Return weights [engines, chunks, lanes]."""
        return layout.weights_to_model(weights, self.geometry, 0)


def beats(job, values):
    """Return numbers of samples [S], or of each class [S, classes], as a stream has them."""
    classes, banks = job.geometry.classes, job.geometry.banks
    return [*values.reshape(-1, banks, classes).swapaxes(1, 2).reshape(-1, banks)]


async def network(dut, count, sink, delay):
    """Answer a lone worker's partial activations, those of ``delay`` cycles together."""
    full = streams.Source(dut, "full", stall=sink)
    held = deque()
    partial = streams.Sink(dut, "partial", stall=lingers(sink), callback=held.append)
    while len(full.cycles) < count:
        await clock(dut, delay)
        while held:
            full.append(held.popleft())
    return partial.beats


@crossed(loss=list(Loss), wild=[False, True], delay=[None, 50], stalls=streams.STALLS, us=100)
async def trains_like_the_golden_model(dut, loss, wild, delay, stalls):
    """It is joined (without delay) or has a network; engines get their words apart."""
    params = params_in_simulator(WorkerParams)
    job = Job(params, generator(), loss, wild)
    source, sink = stalls
    await streams.start(dut)
    put(dut, settings=job.settings, loss=job.loss, join=delay is None)
    engines = range(params.engines)
    for e in engines:
        await load(dut, params.engine, job.shares(job.weights)[e], f"_{e}", lingers(source))
    trace = Trace(dut, "events", "finished", *(f"engine_events_{e}" for e in engines))
    await clock(dut, WordCounter.settings_latency)
    await pulse(dut, "begin")
    total = job.micro_batches * EPOCHS * params.classes
    if delay is not None:
        exchange = cocotb.start_soon(network(dut, total, sink, delay))
    else:
        dut.partial_ready.value = 1
    labels = streams.Source(dut, "labels", stall=lingers(sink))
    labels.extend(job.label_beats())
    for k in range(params.sets):
        words = streams.Source(dut, f"words_{k}", stall=[source, sink][k % 2])
        words.extend(job.words(k))
    while not dut.finished.value:
        await RisingEdge(dut.clk)
    await clock(dut, 3)
    dut.join.value = 0
    if delay is not None:
        check_partials(job, await exchange)
    weights, saturations = job.trained()
    stall = lingers(sink)
    shown = [await peek(dut, params.engine, job.chunks, f"_{e}", stall) for e in engines]
    assert (np.array(shown) == job.shares(weights)).all()
    check_events(job, trace, saturations, total)


@crossed(loss=list(Loss), us=20)
async def mark_turnaround(dut, loss):
    """When joined, last word to next mini-batch's first word, s = 4, takes its parts' sum.

    Within 40 cycles, and those that it takes to and from other dies.
    """
    params = params_in_simulator(WorkerParams)
    count, bits = 6, 4
    settings = {"bits": bits, "chunks": 1, "batch_micro_batches": 1, "tail_samples": 8}
    await streams.start(dut)
    put(
        dut,
        settings=settings | {"epoch_micro_batches": count, "epochs": 1},
        loss={"loss": loss, "mantissa": 1, "exponent": 1},
        join=1,
    )
    last = f"engine_events_{params.classes - 1}"  # of the engine whose class comes last
    trace = Trace(dut, last)
    await clock(dut, WordCounter.settings_latency)
    await pulse(dut, "begin")
    labels = streams.Source(dut, "labels")
    labels.extend([[0] * params.engine.banks] * (count * params.classes))
    words = [streams.Source(dut, f"words_{k}") for k in range(params.sets)]
    for source in words:
        source.extend([0] * (count * bits))
    while not dut.finished.value:
        await RisingEdge(dut.clk)
    await clock(dut, 3)
    cycles = [k for k, event in enumerate(trace[last]) if event["word"]]
    delays = [a - b for a, b in zip(cycles[bits::bits], cycles[bits - 1 :: bits], strict=False)]
    dut._log.info("turnaround with %s loss: %s cycles", loss.name, delays)
    parts = Worker(params).latencies
    names = ["last word in to partials", "deltas to the next mini-batch's first word, with one bit"]
    kind = "logistic" if loss is Loss.LOGISTIC else "linear and hinge"
    names += [f"partials to deltas, {kind}", "deltas to the engines of the first die"]
    apart = parts[OVER_DIES] if params.slrs > 1 else 0
    assert apart == APART[params.slrs]
    if params.classes > 1:  # two registers, and the classes after the first
        assert parts[OF_CLASSES] == 2 + params.classes - 1
        apart += parts[OF_CLASSES]
    golden = sum(parts[name] for name in names) + bits - 1 + apart
    assert set(delays[1:]) == {golden}
    assert delays[0] <= golden, "engines of other dies hear of a beginning before they hear deltas"
    assert golden <= 40 + apart


def check_partials(job, shown):
    """Check those of the first mini-batch, which the weights at the start give."""
    codes, models = job.codes[: job.training.batch], np.atleast_2d(job.weights)
    exact = [golden.partial_activation(codes, own, job.training.shift)[0] for own in models]
    count = len(codes) // job.geometry.banks * job.geometry.banks  # of whole micro-batches
    expected = np.ravel(beats(job, np.array(exact).T[:count]))
    assert np.ravel(shown)[: len(expected)].tolist() == expected.tolist()


@cocotb.test(timeout_time=20, timeout_unit="us")
async def reports_what_it_lacks(dut):
    """It lacks words, of every engine by itself, then labels; it tells each last update."""
    params = params_in_simulator(WorkerParams)
    sets, count, bits = list(range(params.sets)), 3, 2
    lacking = (1 << params.sets) - 1
    sizes = {"batch_micro_batches": count, "epoch_micro_batches": count, "epochs": 1}
    await streams.start(dut)
    put(
        dut,
        settings=sizes | {"bits": bits, "chunks": 1, "tail_samples": 8},
        loss={"loss": Loss.LINEAR, "mantissa": 1, "exponent": 1},
        join=1,
    )
    trace = Trace(dut, "updated")

    async def compare():
        while True:
            await RisingEdge(dut.clk)
            assert not (dut.labels_waiting.value and dut.labels_valid.value)

    cocotb.start_soon(compare())

    async def lacks(words, labels):
        await clock(dut, 60)
        assert int(dut.words_waiting.value) == words
        assert int(dut.labels_waiting.value) == labels

    await lacks(0, 0)
    await clock(dut, WordCounter.settings_latency)
    await pulse(dut, "begin")
    await lacks(lacking, 0)
    random.shuffle(sets)
    for k in sets:
        words = streams.Source(dut, f"words_{k}")
        await words.send_all([0] * (count * bits))
        lacking &= ~(1 << k)
        await lacks(lacking, not lacking)
    assert not dut.finished.value
    assert not any(trace["updated"])
    await streams.Source(dut, "labels").send_all(
        [[0] * params.engine.banks] * (count * params.classes)
    )
    await lacks(0, 0)
    assert dut.finished.value
    engines = range(params.engines)
    reported = [e for updated in trace["updated"] for e in engines if updated >> e & 1]
    # Other dies tell it only where it is asked for: with data parallelism.
    assert sorted(reported) == [*GroupParams(worker=params, index=0).own]
    assert sum(map(bool, trace["updated"])) == params.classes


@crossed(stalls=streams.STALLS, us=40)
async def exchanges_models(dut, stalls):
    """Mini-batches have micro-batches of a word, on the weights before each of them."""
    params = params_in_simulator(WorkerParams)
    engine, engines, count = params.engine, range(params.engines), 4
    rng, (source, sink) = generator(), stalls
    settings = {"bits": 1, "chunks": 1, "batch_micro_batches": count, "tail_samples": engine.banks}
    settings |= {"epoch_micro_batches": 2 * count, "epochs": 1, "data_parallel": 1}
    loss = {"loss": Loss.LINEAR, "mantissa": 1, "exponent": 1}
    await streams.start(dut)
    put(dut, settings=settings, loss=loss, join=0, exchanging=0, refill=0)
    batch = count * engine.banks
    codes = rng.integers(2, size=(2 * batch, params.engines * engine.lanes))
    geometry = layout.Geometry(engines=params.engines, banks=engine.banks, lanes=engine.lanes)
    partial = streams.Sink(dut, "partial", stall=sink)
    full, labels = streams.Source(dut, "full"), streams.Source(dut, "labels", stall=source)
    trace = Trace(dut, "updated")
    for half in range(2):
        weights = rng.integers(-(1 << 20), 1 << 20, (params.engines, 1, engine.lanes))
        for e in engines:
            await load(dut, engine, weights[e], f"_{e}", source)
        put(dut, exchanging=0)
        await pulse(dut, "refill" if half else "begin")
        for e in engines if not half else ():
            words = streams.Source(dut, f"words_{e}", stall=source)
            words.extend(as_numbers(layout.pack(codes, 1, geometry, 0, e)))
        await partial.wait_for((half + 1) * count)
        own = codes[half * batch :][:batch]
        expected, _ = golden.partial_activation(own, weights.reshape(-1), 1)
        assert np.ravel(partial.beats[half * count :]).tolist() == expected.tolist()
        for _ in range(count):  # nothing to learn
            full.append([0] * engine.banks)
        await clock(dut, 20)  # sums are back before their labels are read, and wait for them
        labels.extend([[0] * engine.banks] * count)
        while not all(sum(u >> e & 1 for u in trace["updated"]) > half for e in engines):
            await RisingEdge(dut.clk)
        put(dut, exchanging=1 - half)
        for e in engines:
            assert (await peek(dut, engine, 1, f"_{e}", sink) == weights[e]).all()
    assert len(partial.beats) == 2 * count
    assert dut.finished.value


@cocotb.test(timeout_time=40, timeout_unit="us")
async def keeps_answers_until_they_are_taken(dut):
    """There are more questions than an engine has room for."""
    params = params_in_simulator(WorkerParams)
    engine = params.engine
    await streams.start(dut)
    weights = any_numbers(generator(), 32, (engine.chunks, engine.lanes))
    groups = weights.reshape(-1, GROUP_LANES).tolist() * 3
    places = list(np.ndindex(engine.chunks, engine.lanes // GROUP_LANES)) * 3
    beats = [{"chunk": chunk, "group": group} for chunk, group in places]
    for e in range(params.engines):
        await load(dut, engine, weights, f"_{e}")
        requesting = cocotb.start_soon(
            streams.send(dut, f"peek_{e}", beats, lingers(streams.often))
        )
        await clock(dut, 80)
        stall = lingers(streams.often)
        answers, _ = await streams.receive(dut, f"peeked_{e}", len(beats), stall)
        await requesting
        assert answers == groups


def check_events(job, trace, saturations, total):
    """Check what the counters would add up."""
    events = trace["events"]
    assert sum(event["micro_batches"] for event in events) == total
    for name in ("activation", "derivative", "delta"):
        counted = sum(event[f"{name}_saturations"] for event in events)
        assert counted == getattr(saturations, name), name
    engines = [trace[f"engine_events_{e}"] for e in range(job.params.engines)]
    counted = sum(event["model_saturation"] for engine in engines for event in engine)
    assert counted == saturations.model
    for e, engine in enumerate(engines):
        assert sum(event["word"] for event in engine) == len(job.words(e // job.params.classes))
