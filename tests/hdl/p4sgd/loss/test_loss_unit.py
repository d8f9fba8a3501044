import random

import cocotb
import numpy as np
import pytest

from hdl.p4sgd.core.partial_sum import PartialSum
from hdl.p4sgd.engine.params import SCHEDULE, EngineParams
from hdl.p4sgd.loss.loss_unit import DELTAS_DEPTH, DELTAS_LATENCY, LossUnit
from hdl.p4sgd.worker_params import Loss, WorkerParams
from sim.golden.arithmetic import Step
from sim.harness import streams
from sim.harness.streams import crossed
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.golden import sgd as golden
from tests.hdl.p4sgd.bench import Trace, clock, generator, micro_batches, pulse, put, wild

SIZES = [
    WorkerParams(engines=1),
    WorkerParams(engines=1, engine=EngineParams(banks=16)),
    WorkerParams(engines=3, classes=3, engine=EngineParams(banks=2, lanes=128)),
]
LATENCIES = {
    Loss.LINEAR: LossUnit.latency,
    Loss.LOGISTIC: LossUnit.logistic_latency,
    Loss.HINGE: LossUnit.latency,
}
MARKS = {Loss.LINEAR: 8, Loss.LOGISTIC: 12, Loss.HINGE: 8}  # with the adder of a lone engine
STEP = Step.of(0.7)


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_loss_unit(params):
    simulate(LossUnit(params), __name__, registers=("in_batch", "in_epoch", "epoch"))


def settings_of(loss, step):
    return {"loss": loss, "mantissa": step.mantissa, "exponent": step.exponent}


def marks_of(params, settings):
    """Return the marks of all beats: each class has each micro-batch."""
    marks = micro_batches(settings, params.engine.banks)
    return [mark for mark in marks for _ in range(params.classes)]


def expected(loss, activations, labels, marks, step):
    """Return deltas, and the counts of saturated samples of each micro-batch."""
    banks = activations.shape[1]
    near = np.array([[mark["present"] >> k & 1 for k in range(banks)] for mark in marks], bool)
    slope, slope_mask = golden.derivative(golden.Loss[loss.name], activations, labels)
    delta, delta_mask = golden.delta(slope, step)
    beats = [
        {"delta": row.tolist()} | {name: mark[name] for name in ("first", "last", "final")}
        for row, mark in zip(np.where(near, delta, 0), marks, strict=True)
    ]
    derivatives, deltas = (slope_mask & near).sum(axis=1), (delta_mask & near).sum(axis=1)
    counts = zip(derivatives.tolist(), deltas.tolist(), strict=True)
    return beats, [{"derivative": a, "delta": b} for a, b in counts]


def total(counts, name):
    return sum(count[name] for count in counts)


@crossed(loss=list(Loss), stalls=streams.STALLS, step=[STEP, Step.of(3.3)], us=100)
async def marks_and_masks(dut, loss, stalls, step):
    params = params_in_simulator(WorkerParams)
    rng = generator()
    banks = params.engine.banks
    source, sink = stalls
    settings = {
        "batch_micro_batches": int(rng.integers(1, 5)),
        "epoch_micro_batches": int(rng.integers(1, 12)),
        "tail_samples": int(rng.integers(1, banks, endpoint=True)),
        "epochs": 4,
    }
    marks = marks_of(params, settings)
    await streams.start(dut)
    put(dut, settings=settings, loss=settings_of(loss, step))
    counted = Trace(dut, "saturations")
    golden_counts = []
    for _ in range(2):  # a run leaves nothing behind
        activations, labels = wild(rng, 32, (2, len(marks), banks))
        beats, counts = expected(loss, activations, labels, marks, step)
        await pulse(dut, "start")
        inputs = [streams.Source(dut, name, stall=source) for name in ("activations", "labels")]
        for stream, values in zip(inputs, (activations, labels), strict=True):
            stream.extend(values)
        shown, taken = await streams.receive(dut, "deltas", len(marks), sink)
        await clock(dut, 2)
        assert shown == beats
        entered = inputs[0].cycles
        assert inputs[1].cycles == entered
        queued = [when + LATENCIES[loss] - DELTAS_LATENCY for when in entered]
        assert [counted.at("saturations", when) for when in queued] == counts
        golden_counts += counts
        if stalls.absent:
            assert taken == [when + LATENCIES[loss] for when in entered]
            assert taken == list(range(taken[0], taken[0] + len(taken)))
    for name in ("derivative", "delta"):  # and nothing in the cycles between
        assert total(counted["saturations"], name) == total(golden_counts, name)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def every_bit_of_the_lengths_counts(dut):
    """Presets are at the last micro-batch of a mini-batch, of an epoch and of a run."""
    params = params_in_simulator(WorkerParams)
    counts = dut.schedule.mini_batches.in_batch, dut.schedule.mini_batches.in_epoch
    names = ("batch_micro_batches", "epoch_micro_batches", "epochs")
    zeros = [[0] * params.engine.banks]
    await streams.start(dut)
    put(dut, loss=settings_of(Loss.LINEAR, STEP))
    for turn in range(90):
        settings = {name: random.getrandbits(field.width) or 1 for name, field in SCHEDULE}
        batch, epoch, epochs = (settings[name] for name in names)
        put(dut, settings=settings)
        await pulse(dut, "start")
        counts[turn % 3 > 0].value = (epoch if turn % 3 else batch) - 1
        dut.schedule.epoch.value = epochs - 1 if turn % 3 == 2 else 0
        await clock(dut, 2)
        cocotb.start_soon(streams.send(dut, "labels", zeros))
        cocotb.start_soon(streams.send(dut, "activations", zeros))
        (shown,), _ = await streams.receive(dut, "deltas", 1)
        assert (shown["last"], shown["final"]) == (1, turn % 3 == 2)


@crossed(loss=list(Loss), us=20)
async def keeps_room_for_deltas(dut, loss):
    """While nobody takes them, as many micro-batches enter as the queue has room for."""
    params = params_in_simulator(WorkerParams)
    total, banks = 3 * DELTAS_DEPTH, params.engine.banks
    count = total // params.classes
    settings = {"batch_micro_batches": 3, "epoch_micro_batches": count, "epochs": 1}
    settings["tail_samples"] = banks
    activations, labels = wild(generator(), 32, (2, total, banks))
    await streams.start(dut)
    put(dut, settings=settings, loss=settings_of(loss, STEP))
    dut.deltas_ready.value = 0
    await pulse(dut, "start")
    cocotb.start_soon(streams.send(dut, "labels", labels))
    feed = streams.Source(dut, "activations")
    feed.extend(activations)
    await clock(dut, 3 * DELTAS_DEPTH)
    assert len(feed.cycles) == DELTAS_DEPTH
    shown, _ = await streams.receive(dut, "deltas", total, streams.rarely)
    assert shown == expected(loss, activations, labels, marks_of(params, settings), STEP)[0]


@crossed(loss=list(Loss), us=20)
async def keeps_its_mark(dut, loss):
    """A lone engine's sum becomes deltas within 8 cycles, or 12 with the sigmoid."""
    params = params_in_simulator(WorkerParams)
    await streams.start(dut)
    put(dut, settings={"epochs": 1}, loss=settings_of(loss, STEP))
    zeros = [[0] * params.engine.banks]
    cocotb.start_soon(streams.send(dut, "labels", zeros))
    sending = cocotb.start_soon(streams.send(dut, "activations", zeros))
    _, taken = await streams.receive(dut, "deltas", 1)
    total = taken[0] - (await sending)[0] + PartialSum(params).latency
    dut._log.info("engine sum, rounding, %s loss: %d cycles", loss.name, total)
    assert total <= MARKS[loss]
