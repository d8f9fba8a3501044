import random

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import module_name
from hdl.common.streams import StreamRegister
from hdl.p4sgd.core.engine_chain import EngineChain
from hdl.p4sgd.core.group_routing import PEEKS
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.read_back import OUTSTANDING
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.payloads import unpack
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import (
    Reference,
    Run,
    clock,
    generator,
    lingers,
    load,
    peek,
    pulse,
    put,
    set_up,
    wild,
)

PARAMS = WorkerParams(
    engines=3,
    slrs=3,
    slr_stages=4,
    engine=EngineParams(lanes=32, chunks=4, fifo_words=40, data_parallel=True),
)


def test_engine_chain():
    simulate(
        EngineChain(PARAMS),
        __name__,
        hier_blocks=[module_name(Engine(PARAMS.engine))],
        registers=["near_settings"],
    )


def places(params):
    groups = params.engine.lanes // GROUP_LANES
    shape = (params.engines, params.engine.chunks, groups)
    result = list(np.ndindex(*shape))
    random.shuffle(result)
    return result


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def weights_of_all_engines(dut, stalls):
    """Engines are loaded and peeked at in any order; a load counts as soon as it was taken."""
    params = params_in_simulator(WorkerParams)
    rng, (source, sink) = generator(), stalls
    await streams.start(dut)
    engines = range(params.engines)
    loads = [streams.Source(dut, f"load_{e}", stall=source) for e in engines]
    peeks = [streams.Source(dut, f"peek_{e}", stall=source) for e in engines]
    answers = [streams.Sink(dut, f"peeked_{e}", stall=sink) for e in engines]
    order = []

    def place(chunk, group):
        return {"chunk": chunk, "group": group}

    async def issue(e, chunk, group):
        order.append((e, chunk, group))
        await peeks[e].send_all([place(chunk, group)])

    model = {}
    for e, chunk, group in places(params):
        model[e, chunk, group] = wild(rng, 32, GROUP_LANES).tolist()
        beat = place(chunk, group) | {"weights": model[e, chunk, group]}
        await loads[e].send_all([beat])
        if random.random() < 0.3:
            await issue(e, chunk, group)
    for _ in range(2):
        for where in places(params):
            await issue(*where)
    for e in engines:
        own = [model[where] for where in order if where[0] == e]
        await answers[e].wait_for(len(own))
        assert answers[e].beats == own
    if sink is streams.never:  # answers come back in the order of the questions
        came = sorted((when, e) for e in engines for when in answers[e].cycles)
        assert [e for _, e in came] == [where[0] for where in order]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def peeks_wait_for_answers_to_go(dut):
    """More peeks go to one engine than the way holds, while nobody takes its answers."""
    params = params_in_simulator(WorkerParams)
    rng = generator()
    await streams.start(dut)
    count = 2 * PEEKS
    for e in range(params.engines):
        weights = wild(rng, 32, (params.engine.chunks, params.engine.lanes))
        await load(dut, params.engine, weights, f"_{e}")
        requested = [
            {"chunk": int(chunk), "group": int(group)}
            for chunk, group in zip(
                rng.integers(params.engine.chunks, size=count),
                rng.integers(params.engine.lanes // GROUP_LANES, size=count),
                strict=True,
            )
        ]
        peeks = streams.Source(dut, f"peek_{e}")
        getattr(dut, f"peeked_{e}_ready").value = 0
        peeks.extend(requested)
        await clock(dut, 3 * PEEKS)
        assert OUTSTANDING <= len(peeks.cycles) <= PEEKS + 2 * StreamRegister.capacity
        answers, _ = await streams.receive(dut, f"peeked_{e}", count)
        eights = weights.reshape(params.engine.chunks, -1, GROUP_LANES)
        assert answers == [eights[p["chunk"], p["group"]].tolist() for p in requested]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def every_die_has_all_settings(dut):
    """They are looked at bit by bit, as a run short enough to simulate needs few of them."""
    params = params_in_simulator(WorkerParams)
    await streams.start(dut)
    groups = [getattr(dut, f"group_{k}") for k in range(params.slrs)]
    for _ in range(32):
        settings = random.getrandbits(len(dut.settings))
        dut.settings.value = settings
        await clock(dut, params.slrs * (params.slr_stages + 1))
        assert [int(group.near_settings.value) for group in groups] == [settings] * params.slrs


class Watcher:
    """Keeps what each engine was sent and took, and checks what the chain tells of it."""

    def __init__(self, dut, engines):
        self.dut = dut
        self.sent, self.taken = [0] * engines, [0] * engines
        self.task = cocotb.start_soon(self.look())

    async def look(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            for e, sent in enumerate(self.sent):
                self.taken[e] += unpack(ENGINE_EVENTS, int(getattr(dut, f"events_{e}").value))[
                    "word"
                ]
                if int(dut.waiting.value) >> e & 1:
                    assert sent <= self.taken[e], f"engine {e}: words are on their way"
                valid, ready = (getattr(dut, f"words_{e}_{name}") for name in ("valid", "ready"))
                self.sent[e] += bool(valid.value and ready.value)


async def after_a_gap(dut, source, words):
    """Send the rest of the words, when every engine has told that it lacks them."""
    while int(dut.waiting.value) != (1 << PARAMS.engines) - 1:
        await RisingEdge(dut.clk)
    source.extend(words)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def runs_in_a_row(dut, stalls):
    """Sums of all engines are exact; the second run's words come before it, with a gap.

    Deltas are held back until the word FIFOs are full, or a few micro-batches wait for theirs.
    """
    params = params_in_simulator(WorkerParams)
    rng, (source, sink) = generator(), stalls
    engines = range(params.engines)
    await streams.start(dut)
    sources = [streams.Source(dut, f"words_{e}", stall=[source, sink][e % 2]) for e in engines]
    watcher = Watcher(dut, params.engines)
    sizes = [
        {"samples": 44, "chunks": 3, "bits": 5, "signed": True, "batch": 32},
        {"samples": 100, "chunks": 1, "bits": 1, "signed": False, "batch": 40},
    ]
    runs = [[Run(params.engine, rng, **size) for _ in engines] for size in sizes]
    weights = [wild(rng, 32, (3, params.engine.lanes)) for _ in engines]
    for e in engines:
        await load(dut, params.engine, weights[e], f"_{e}")
    for e in engines:
        words = runs[0][e].words + runs[1][e].words
        gap = len(words) - len(runs[1][e].words) // 2
        sources[e].extend(words[:gap])
        cocotb.start_soon(after_a_gap(dut, sources[e], words[gap:]))
    partials = streams.Sink(dut, "partials", stall=lingers(sink))
    deltas = streams.Source(dut, "deltas", stall=source)
    for run in runs:
        golden = [Reference(run[e], weights[e][: run[e].chunks]) for e in engines]
        partials.beats.clear()
        due = sum(len(run[e].words) for e in engines) + sum(watcher.taken)
        await set_up(dut, run[0].settings)
        await pulse(dut, "begin")
        for j, marks in enumerate(run[0].marks):
            while len(partials.beats) <= j:
                await RisingEdge(dut.clk)
                assert not dut.finished.value
            exact = sum(reference.sums(j) for reference in golden)
            assert partials.beats[j] == exact.tolist()
            mark = {name: marks[name] for name in ("first", "last", "final")}
            delta = wild(rng, 32, params.engine.banks)
            for reference in golden:
                reference.learn(j, delta, marks["last"])
            if marks["first"]:
                await clock(dut, 40)
            deltas.append({"delta": delta} | mark)
        while not dut.finished.value:
            await RisingEdge(dut.clk)
        assert sum(watcher.taken) == due
        for e in engines:
            weights[e] = weights[e].copy()
            weights[e][: run[e].chunks] = golden[e].architectural.reshape(run[e].chunks, -1)
            assert (await peek(dut, params.engine, 3, f"_{e}") == weights[e]).all()


async def count_updates(dut, reported):
    """Count how often each engine has told of a mini-batch's last update."""
    while True:
        await RisingEdge(dut.clk)
        for e in range(PARAMS.engines):
            reported[e] += int(dut.updated.value) >> e & 1


@cocotb.test(timeout_time=200, timeout_unit="us")
async def models_are_exchanged_in_a_run(dut):
    """By data parallelism, weights are read, replaced and used after each mini-batch."""
    params = params_in_simulator(WorkerParams)
    rng, engines = generator(), range(params.engines)
    await streams.start(dut)
    put(dut, exchanging=0, refill=0)
    sizes = {"samples": 44, "chunks": 2, "bits": 3, "signed": False, "batch": 16}
    runs = [Run(params.engine, rng, **sizes) for _ in engines]
    partials, deltas = streams.Sink(dut, "partials"), streams.Source(dut, "deltas")
    reported, mini_batches = [0] * params.engines, 0
    cocotb.start_soon(count_updates(dut, reported))

    async def replace_weights():
        weights = [wild(rng, 32, (sizes["chunks"], params.engine.lanes)) for _ in engines]
        for e in engines:
            await load(dut, params.engine, weights[e], f"_{e}")
        return weights

    weights = await replace_weights()
    await set_up(dut, runs[0].settings | {"data_parallel": 1})
    await pulse(dut, "begin")
    for e in engines:
        source = streams.Source(dut, f"words_{e}")
        source.extend(runs[e].words)
    for j, marks in enumerate(runs[0].marks):
        while len(partials.beats) <= j:
            await RisingEdge(dut.clk)
        golden = [Reference(run, w) for run, w in zip(runs, weights, strict=True)]
        assert partials.beats[j] == sum(reference.sums(j) for reference in golden).tolist()
        mark = {name: marks[name] for name in ("first", "last", "final")}
        deltas.append({"delta": [0] * params.engine.banks} | mark)
        if not marks["last"]:
            continue
        mini_batches += 1
        while min(reported) < mini_batches:
            await RisingEdge(dut.clk)
        assert reported == [mini_batches] * params.engines
        dut.exchanging.value = 1
        for e in engines:
            assert (await peek(dut, params.engine, sizes["chunks"], f"_{e}") == weights[e]).all()
        weights = await replace_weights()
        assert len(partials.beats) == j + 1  # the next mini-batch waits
        dut.exchanging.value = 0
        await pulse(dut, "refill")
    assert dut.finished.value
    assert reported == [mini_batches] * params.engines
