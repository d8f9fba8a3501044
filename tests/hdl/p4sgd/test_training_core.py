import random
from dataclasses import asdict

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from gen.emit import module_name
from hdl.p4sgd.engine import Engine
from hdl.p4sgd.group_params import GroupParams
from hdl.p4sgd.params import EngineParams
from hdl.p4sgd.training_core import TrainingCore
from hdl.p4sgd.worker import OVER_DIES, Worker
from hdl.p4sgd.worker_params import Loss, WorkerParams
from sim import streams
from sim.golden import p4sgd as golden
from sim.golden.arithmetic import Step
from sim.verilator import params_in_simulator, simulate
from sim.workloads import layout
from tests.hdl.p4sgd.bench import (
    ONE,
    as_numbers,
    clock,
    generator,
    load,
    peek,
    pulse,
    put,
    random_codes,
    watch,
)

ENGINE = EngineParams(lanes=32, chunks=4, fifo_words=40, l2=True)
SIZES = {
    "one die": WorkerParams(engines=2, engine=ENGINE),
    "three dies": WorkerParams(engines=4, engine=ENGINE, slrs=3),
}
APART = {1: 0, 3: 2 * 2 * 3 + 2}  #: cycles by dies: two crossings, out and back, and two adders
EPOCHS = 2


@pytest.mark.parametrize("size", SIZES)
def test_training_core(size):
    blocks = [module_name(Engine(ENGINE))]
    simulate(TrainingCore(SIZES[size]), __name__, hier_blocks=blocks)


class Job:
    """A small data set, weights, and what the golden model makes of them."""

    def __init__(self, params, rng, loss, wild):
        engine = params.engine
        bits = int(rng.integers(1, 8, endpoint=True))
        chunks = int(rng.integers(1, min(engine.chunks, engine.fifo_words // bits), endpoint=True))
        self.params, self.chunks = params, chunks
        self.geometry = layout.Geometry(
            engines=params.engines, banks=engine.banks, lanes=engine.lanes
        )
        batch = 8 * int(rng.integers(1, 3, endpoint=True))
        self.training = golden.Training(
            loss=golden.Loss[loss.name],
            bits=bits,
            signed=bool(rng.integers(2)),
            batch=batch,
            banks=engine.banks,
            step=Step.of((2.0 if wild else 0.01) / batch),
            l2_shift=6 * engine.l2,
        )
        self.loss = {"loss": loss, **asdict(self.training.step)}
        samples, features = int(rng.integers(1, 40)), chunks * engine.lanes * params.engines
        self.codes = random_codes(rng, bits, self.training.signed, (samples, features))
        self.labels = rng.integers(0, 2, samples) * ONE
        scale = 31 if wild else 20
        self.weights = rng.integers(-(1 << scale), 1 << scale, features)
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

    def words(self, engine):
        packed = layout.pack(self.codes, self.training.bits, self.geometry, 0, engine)
        return as_numbers(packed) * EPOCHS

    def label_beats(self):
        banks = self.geometry.banks
        padded = np.zeros(self.micro_batches * banks, dtype=np.int64)
        padded[: len(self.labels)] = self.labels
        return [*padded.reshape(-1, banks)] * EPOCHS

    def trained(self):
        """Weights and saturations after the run."""
        features = len(self.weights)
        parts = golden.Parts(np.zeros(features, int), self.geometry.group_of(features))
        weights, total = self.weights, golden.Saturations()
        for _ in range(EPOCHS):
            weights, counts = golden.epoch(self.codes, self.labels, weights, self.training, parts)
            total += counts
        return weights, total

    def shares(self, weights):
        """Weights [engines, chunks, lanes]."""
        return weights.reshape(self.params.engines, self.chunks, -1)


async def network(dut, count, sink, delay):
    """Full activations of a lone worker, ``delay`` cycles behind the partial ones; all of these."""
    full = streams.Source(dut, "full")

    async def later(beat):
        await clock(dut, delay)
        full.append(beat)

    partial = streams.Sink(
        dut, "partial", stall=sink, callback=lambda beat: cocotb.start_soon(later(beat))
    )
    await partial.wait_for(count)
    while len(full.cycles) < count:
        await RisingEdge(dut.clk)
    return partial.beats


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(loss=list(Loss), wild=[False, True], delay=[None, 50], stalls=streams.STALLS)
async def trains_like_the_golden_model(dut, loss, wild, delay, stalls):
    """Joined (no delay at all) or through a network; engines get their words apart."""
    params = params_in_simulator(WorkerParams)
    job = Job(params, generator(), loss, wild)
    source, sink = stalls
    await streams.start(dut)
    put(dut, settings=job.settings, loss=job.loss, join=delay is None)
    engines = range(params.engines)
    for e in engines:
        await load(dut, params.engine, job.shares(job.weights)[e], f"_{e}")
    trace = watch(dut, "events", "finished", *(f"engine_events_{e}" for e in engines))
    await pulse(dut, "begin")
    total = job.micro_batches * EPOCHS
    if delay is not None:
        exchange = cocotb.start_soon(network(dut, total, sink, delay))
    else:
        dut.partial_ready.value = 1
    labels = streams.Source(dut, "labels", stall=sink)
    for beat in job.label_beats():
        labels.append(beat)
    for e in engines:
        words = streams.Source(dut, f"words_{e}", stall=[source, sink][e % 2])
        for word in job.words(e):
            words.append(word)
    while not dut.finished.value:
        await RisingEdge(dut.clk)
    await clock(dut, 3)
    dut.join.value = 0
    if delay is not None:
        check_partials(job, await exchange)
    weights, saturations = job.trained()
    shown = [await peek(dut, params.engine, job.chunks, f"_{e}") for e in engines]
    assert (np.array(shown) == job.shares(weights)).all()
    check_events(job, trace, saturations, total)


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(loss=list(Loss))
async def mark_turnaround(dut, loss):
    """Joined: last word -> first word of the next mini-batch, s = 4: the sum of its parts.

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
    await pulse(dut, "begin")
    labels = streams.Source(dut, "labels")
    for _ in range(count):
        labels.append([0] * params.engine.banks)
    words = [streams.Source(dut, f"words_{e}") for e in range(params.engines)]
    for source in words:
        for _ in range(count * bits):
            source.append(0)
    while not dut.finished.value:
        await RisingEdge(dut.clk)
    cycles = words[0].cycles
    delays = {a - b for a, b in zip(cycles[bits::bits], cycles[bits - 1 :: bits], strict=False)}
    dut._log.info("turnaround with %s loss: %s cycles", loss.name, delays)
    parts = Worker(params).latencies
    names = ["last word in to partials", "deltas to the next mini-batch's first word, with one bit"]
    kind = "logistic" if loss is Loss.LOGISTIC else "linear and hinge"
    names += [f"partials to deltas, {kind}"]
    apart = parts[OVER_DIES] if params.slrs > 1 else 0
    assert delays == {sum(parts[name] for name in names) + bits - 1 + apart}
    assert max(delays) <= 40 + apart
    assert apart == APART[params.slrs]


def check_partials(job, beats):
    """Those of the first mini-batch, which the weights at the start give."""
    codes = job.codes[: job.training.batch]
    expected, _ = golden.partial_activation(codes, job.weights, job.training.shift)
    assert np.ravel(beats)[: len(expected)].tolist() == expected.tolist()


@cocotb.test(timeout_time=20, timeout_unit="us")
async def tells_what_it_lacks(dut):
    """Words, of every engine by itself, then labels; and when each engine has its last update."""
    params = params_in_simulator(WorkerParams)
    engines, count, bits = list(range(params.engines)), 3, 2
    lacking = (1 << params.engines) - 1
    sizes = {"batch_micro_batches": count, "epoch_micro_batches": count, "epochs": 1}
    await streams.start(dut)
    put(
        dut,
        settings=sizes | {"bits": bits, "chunks": 1, "tail_samples": 8},
        loss={"loss": Loss.LINEAR, "mantissa": 1, "exponent": 1},
        join=1,
    )
    trace = watch(dut, "updated")

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
    await pulse(dut, "begin")
    await lacks(lacking, 0)
    random.shuffle(engines)
    for e in engines:
        words = streams.Source(dut, f"words_{e}")
        await words.send_all([0] * (count * bits))
        lacking &= ~(1 << e)
        await lacks(lacking, not lacking)
    assert not dut.finished.value
    assert not any(trace["updated"])
    await streams.Source(dut, "labels").send_all([[0] * params.engine.banks] * count)
    await lacks(0, 0)
    assert dut.finished.value
    told = {e for updated in trace["updated"] for e in engines if updated >> e & 1}
    # Other dies tell it only where it is asked for: with data parallelism.
    assert told == set(GroupParams(worker=params, index=0).own)
    assert sum(map(bool, trace["updated"])) == 1


def check_events(job, trace, saturations, total):
    """What the counters would add up."""
    events = trace["events"]
    assert sum(event["micro_batches"] for event in events) == total
    for name in ("activation", "derivative", "delta"):
        counted = sum(event[f"{name}_saturations"] for event in events)
        assert counted == getattr(saturations, name), name
    engines = [trace[f"engine_events_{e}"] for e in range(job.params.engines)]
    counted = sum(event["model_saturation"] for engine in engines for event in engine)
    assert counted == saturations.model
    for e, engine in enumerate(engines):
        assert sum(event["word"] for event in engine) == len(job.words(e))
