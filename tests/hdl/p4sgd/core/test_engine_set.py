"""Tests a set of engines, one for each class: their words are the same, all else is their own."""

import re

import cocotb
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import module_name
from hdl.p4sgd.core.engine_set import EngineSet
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import (
    Reference,
    Run,
    Trace,
    clock,
    generator,
    lingers,
    load,
    peek,
    pulse,
    put,
    set_up,
    start_run,
    wild,
)

PARAMS = WorkerParams(
    engines=3,
    classes=3,
    engine=EngineParams(lanes=16, chunks=10, fifo_words=40, data_parallel=True),
)
CLASSES = range(PARAMS.classes)


def test_engine_set():
    simulate(EngineSet(PARAMS), __name__, hier_blocks=[module_name(Engine(PARAMS.engine))])


async def load_all(dut, rng, chunks, stall=streams.never):
    """Load weights into the engine of each class; return them."""
    engine = params_in_simulator(WorkerParams).engine
    weights = [wild(rng, 32, (chunks, engine.lanes)) for _ in CLASSES]
    for c in CLASSES:
        await load(dut, engine, weights[c], "", stall, f"engines_{c}_")
    return weights


async def check_weights(dut, golden, chunks, stall=streams.never):
    engine = params_in_simulator(WorkerParams).engine
    for c in CLASSES:
        late = 30 * (c == chunks // 4)  # so that an engine has as many answers as it may
        shown = await peek(dut, engine, chunks, "", stall, f"engines_{c}_", late)
        assert (shown == golden[c].architectural.reshape(chunks, -1)).all()


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def trains_each_class_in_turn(dut, stalls):
    """Deltas of the classes, of few and of many words a micro-batch, follow each other.

    All weights are read by more peeks than an engine has under way.
    """
    params, rng, (source, sink) = params_in_simulator(WorkerParams), generator(), stalls
    await streams.start(dut)
    put(dut, exchanging=0, refill=0)
    words = streams.Source(dut, "words", stall=source)
    partials = streams.Sink(dut, "partials", stall=lingers(sink))
    deltas = streams.Source(dut, "deltas", stall=lingers(source))
    for sizes in (
        {"samples": 44, "chunks": 10, "bits": 4, "signed": True, "batch": 32},
        {"samples": 180, "chunks": 1, "bits": 1, "signed": False, "batch": 160},
        {"samples": 24, "chunks": 1, "bits": 5, "signed": False, "batch": 24},
    ):
        run = Run(params.engine, rng, **sizes)
        golden = [Reference(run, w) for w in await load_all(dut, rng, run.chunks, sink)]
        trace = Trace(dut, *(f"engines_{c}_events" for c in CLASSES))
        await start_run(dut, run)
        partials.beats.clear()
        held = []
        words.extend(run.words)
        for j, marks in enumerate(run.marks):
            while len(partials.beats) < (j + 1) * len(golden):
                await RisingEdge(dut.clk)
                assert not dut.finished.value
                assert not (dut.waiting.value and dut.words_valid.value)
            shown = partials.beats[j * len(golden) :]
            assert shown[: len(golden)] == [own.sums(j).tolist() for own in golden]
            mark = {name: marks[name] for name in ("first", "last", "final")}
            for own in golden:
                delta = wild(rng, 32, params.engine.banks)
                own.learn(j, delta, marks["last"])
                held.append({"delta": delta} | mark)
            # Of micro-batches of a word, more deltas of a class come at once than wait in the set.
            if marks["last"] or run.bits > 1:
                deltas.extend(held)
                held.clear()
        while not dut.finished.value:
            await RisingEdge(dut.clk)
        await check_weights(dut, golden, run.chunks, sink)
        assert len(partials.beats) == len(run.marks) * len(golden)
        for c in CLASSES:
            events = trace[f"engines_{c}_events"]
            causes = [sum(event.values()) - event["model_saturation"] for event in events]
            assert re.fullmatch("0*1*0*", "".join(map(str, causes))), "a cycle has several or none"
            assert sum(event["word"] for event in events) == len(run.words)
            saturated = sum(event["model_saturation"] for event in events)
            assert saturated == golden[c].saturations


@cocotb.test(timeout_time=50, timeout_unit="us")
async def deltas_wait_for_their_turn(dut):
    """More of each class come before the words than wait in the set; some cycles do not matter."""
    params, rng = params_in_simulator(WorkerParams), generator()
    sizes = {"samples": 24, "chunks": 1, "bits": 1, "signed": False, "batch": 24}
    for cycles in range(20, 23):
        run = Run(params.engine, rng, **sizes)
        golden = [Reference(run, w) for w in await start_and_load(dut, rng, run.chunks)]
        dut.partials_ready.value = 1
        deltas = streams.Source(dut, "deltas")
        await start_run(dut, run)
        for j, marks in enumerate(run.marks):
            mark = {name: marks[name] for name in ("first", "last", "final")}
            for own in golden:
                delta = wild(rng, 32, params.engine.banks)
                own.learn(j, delta, marks["last"])
                deltas.append({"delta": delta} | mark)
        await clock(dut, cycles)
        assert len(deltas.cycles) == 2 * len(golden)
        assert dut.waiting.value
        await streams.Source(dut, "words").send_all(run.words)
        await clock(dut, 60)
        assert dut.finished.value
        assert not dut.waiting.value
        await check_weights(dut, golden, run.chunks)


async def start_and_load(dut, rng, chunks):
    await streams.start(dut)
    put(dut, exchanging=0, refill=0)
    return await load_all(dut, rng, chunks)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def models_are_exchanged(dut):
    """Each class reports its last update; weights are replaced while the next words wait."""
    params, rng = params_in_simulator(WorkerParams), generator()
    sizes = {"samples": 16, "chunks": 1, "bits": 2, "signed": False, "batch": 8}
    run = Run(params.engine, rng, **sizes)
    weights = await start_and_load(dut, rng, run.chunks)
    partials, deltas = streams.Sink(dut, "partials"), streams.Source(dut, "deltas")
    trace = Trace(dut, *(f"engines_{c}_updated" for c in CLASSES))
    await set_up(dut, run.settings | {"data_parallel": 1})
    await pulse(dut, "start")
    words = streams.Source(dut, "words")
    words.extend(run.words)
    for j, marks in enumerate(run.marks):
        golden = [Reference(run, own) for own in weights]
        await partials.wait_for((j + 1) * len(golden))
        assert partials.beats[-len(golden) :] == [own.sums(j).tolist() for own in golden]
        mark = {name: marks[name] for name in ("first", "last", "final")}
        deltas.extend([{"delta": [0] * params.engine.banks} | mark for _ in golden])
        await clock(dut, 30)
        for c in CLASSES:
            assert sum(trace[f"engines_{c}_updated"]) == j + 1
        dut.exchanging.value = 1
        await check_weights(dut, golden, run.chunks)
        weights = await load_all(dut, rng, run.chunks)
        assert len(partials.beats) == (j + 1) * len(golden)
        dut.exchanging.value = 0
        await pulse(dut, "refill")
    assert dut.finished.value


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_reset_begins_with_the_first_class(dut):
    """It comes while partial activations wait, and after the deltas of one class."""
    params, rng = params_in_simulator(WorkerParams), generator()
    sizes = {"samples": 8, "chunks": 1, "bits": 1, "signed": False, "batch": 8}
    for count in (0, 1, 3):
        run = Run(params.engine, rng, **sizes)
        golden = [Reference(run, w) for w in await start_and_load(dut, rng, run.chunks)]
        dut.partials_ready.value = 0
        await start_run(dut, run)
        await streams.Source(dut, "words").send_all(run.words)
        await clock(dut, 30)
        for own in golden[:count]:
            (shown,), _ = await streams.receive(dut, "partials", 1)
            assert shown == own.sums(0).tolist()
            delta = wild(rng, 32, params.engine.banks)
            own.learn(0, delta, True)
            mark = {"first": 1, "last": 1, "final": 1}
            await streams.send(dut, "deltas", [{"delta": delta} | mark])
    await clock(dut, 40)
    assert dut.finished.value
    await check_weights(dut, golden, run.chunks)
