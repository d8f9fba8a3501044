import cocotb

from hdl.p4sgd.engine.backward import BackwardStage
from hdl.p4sgd.engine.model_memory import update_latency
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.update_lane import UpdateLane
from sim.harness import streams
from sim.harness.payloads import unpack
from sim.harness.verilator import params_in_simulator
from tests.hdl.p4sgd.bench import (
    Run,
    Trace,
    clock,
    generator,
    load,
    own,
    position_of,
    put,
    start_run,
    wild,
)
from tests.simulated import simulated

SIZES = [
    EngineParams(lanes=4, chunks=9),
    EngineParams(banks=2, lanes=12, chunks=2, l2=True),
    EngineParams(banks=1, lanes=1, chunks=1, max_bits=1),
    EngineParams(lanes=4, chunks=9, ping_pong=True),
    EngineParams(banks=3, lanes=12, chunks=2, l2=True, ping_pong=True),
]
PULSES = ("planes_valid", "write", "granted", "updated")
STATE = ("position", "next_word", "planes", "planes_first", "read_chunk", "keep", "decaying")
STATE += ("from_zero",)
STATE += ("replace", "write_both", "write_chunk", "finished", *PULSES)

test_backward = simulated(BackwardStage, SIZES, __name__)


def traced(dut, params):
    """Keep all orders of the stage."""
    return Trace(dut, *STATE, *(("read", "read_half", "write_half") if params.ping_pong else ()))


async def go_through(dut, run, stalls=streams.Stalls.NONE, from_zero=False):
    """Run; return the words' cycles, the deltas' and a trace."""
    stage = BackwardStage(run.params)
    trace = traced(dut, run.params)
    await start_run(dut, run)
    put(dut, settings=own(run.settings) | {"from_zero": from_zero})
    stored = streams.Source(dut, "stored", stall=stalls.value[0])
    deltas = streams.Source(dut, "deltas", stall=stalls.value[1])
    stored.extend(run.words)
    await deltas.send_all(
        {
            "delta": wild(run.rng, 32, run.params.banks),
            "first": mark["first"],
            "last": mark["last"],
            "final": mark["final"],
        }
        for mark in run.marks
    )
    await clock(dut, stage.latency + 3)
    assert len(stored.cycles) == len(run.words)
    return stored.cycles, deltas.cycles, trace


def check_control(run, words, trace, from_zero, half):
    """Check what the lanes are told, against where each word is.

    ``half`` is the architectural one when the run begins; returns the one when it has ended.
    """
    stage = BackwardStage(run.params)
    marks = run.marks
    ends, granted, updated, reads = [], [], [], []
    for index, when in enumerate(words):
        position = position_of(index, run.bits, run.chunks)
        mark = marks[index // (run.bits * run.chunks)]
        assert trace.at("position", when) == position
        assert trace.at("planes", when + 1) == unpack(run.params.word, run.words[index])
        assert trace.at("planes_first", when + 1) == position["first_plane"]
        if not position["last_plane"]:
            continue
        ends.append(when)
        granted += [when + stage.latency] * mark["last"]
        updated += [when + stage.latency] * (mark["last"] and position["last_chunk"])
        gradient = when + stage.gradient_latency
        reported = gradient - 1  # the lanes hear of it by a register
        assert trace.at("read_chunk", gradient - stage.read_latency) == position["chunk"]
        assert trace.at("decaying", reported) == mark["last"]
        assert trace.at("from_zero", reported) == (mark["first"] and from_zero)
        assert not trace.at("keep", reported)
        assert not trace.at("replace", reported + 1)
        assert trace.at("write_chunk", when + stage.latency) == position["chunk"]
        assert trace.at("write_both", when + stage.latency) == mark["last"]
        reads.append(gradient - stage.read_latency)
        if run.params.ping_pong:
            assert trace.at("read_half", reads[-1]) == (half if mark["first"] else not half)
            assert trace.at("write_half", when + stage.latency) == (not half)
            half ^= mark["last"] and position["last_chunk"]
    assert trace.when("next_word") == words
    assert trace.when("planes_valid") == [when + 1 for when in words]
    assert trace.when("write") == [end + stage.latency for end in ends]
    assert trace.when("granted") == granted
    assert trace.when("updated") == updated
    # A chunk is read again only behind its write.
    for before, after in zip(ends, ends[run.chunks :], strict=False):
        assert after + stage.gradient_latency - stage.read_latency > before + stage.latency
    if run.params.ping_pong:
        assert trace.when("read") == reads
    return half


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(
    bits=[1, 2, 4, 7], chunks=[1, 2, 4, 9], stalls=streams.STALLS, from_zero=[False, True]
)
async def follows_the_words(dut, bits, chunks, stalls, from_zero):
    params = params_in_simulator(EngineParams)
    rng = generator()
    bits = max(params.min_bits, min(bits, params.max_bits))
    chunks = min(chunks, params.chunks)
    samples = int(rng.integers(1, 8 * params.banks))
    batch = params.banks * int(rng.integers(1, 4))
    run = Run(params, rng, samples, chunks, bits, False, batch, epochs=2)
    await streams.start(dut)
    words, deltas, trace = await go_through(dut, run, stalls, from_zero)
    size = run.bits * run.chunks
    half = check_control(run, words, trace, from_zero, 0)
    assert deltas == words[size - 1 :: size]
    finish = words[-1] + BackwardStage(params).latency
    assert trace.when("finished") == list(range(finish + 1, finish + 4))
    if stalls.absent:
        starts = words[::size]
        loop = max(params.update_loop, size)
        assert starts == list(range(starts[0], starts[0] + loop * len(starts), loop))
        assert words[:size] == list(range(words[0], words[0] + size))
    if params.ping_pong:  # the halves stay as the run left them
        words, _, trace = await go_through(dut, run, stalls, from_zero)
        check_control(run, words, trace, from_zero, half)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def start_clears_finished(dut):
    params = params_in_simulator(EngineParams)
    run = Run(params, generator(), params.banks, 1, params.min_bits, False, params.banks)
    await streams.start(dut)
    for _ in range(2):
        await go_through(dut, run)
        assert dut.finished.value
    await start_run(dut, run)
    await clock(dut, 2)
    assert not dut.finished.value


@cocotb.test(timeout_time=20, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def loads_the_host_s_weights(dut, stalls):
    """Both copies of a chunk are written, a group at a time, before and after a run."""
    params = params_in_simulator(EngineParams)
    rng = generator()
    stage = BackwardStage(params)
    run = Run(params, rng, params.banks, params.chunks, params.min_bits, False, params.banks)
    weights = wild(rng, 32, (params.chunks, params.lanes))
    groups = -(-params.lanes // GROUP_LANES)
    await streams.start(dut)
    for trial in range(2):
        put(dut, settings=own(run.settings) | {"from_zero": 1})
        trace = traced(dut, params)
        monitor = streams.Monitor(dut, "load")
        await load(dut, params, weights, stall=stalls.value[0])
        await clock(dut)
        assert [(b["chunk"], b["group"]) for b in monitor.beats] == [
            (chunk, group) for chunk in range(params.chunks) for group in range(groups)
        ]
        assert trace.when("write") == monitor.cycles
        for when, beat in zip(monitor.cycles, monitor.beats, strict=True):
            gradient = when - UpdateLane.latency
            reported = gradient - 1
            assert trace.at("read_chunk", gradient - stage.read_latency) == beat["chunk"]
            assert trace.at("keep", reported)
            assert not trace.at("from_zero", reported)
            assert not trace.at("decaying", reported)
            assert trace.at("replace", reported + 1)
            assert trace.at("write_chunk", when) == beat["chunk"]
            assert trace.at("write_both", when)
            if params.ping_pong:
                half = trial % 2  # a run is of one mini-batch
                assert trace.at("read_half", gradient - stage.read_latency) == half
                assert trace.at("write_half", when) == half
        assert not trace.when("granted")
        assert not trace.when("updated")
        assert not trace.when("planes_valid")
        if stalls.absent:
            spacing = stage.read_latency + UpdateLane.latency + 1
            first = monitor.cycles[0]
            assert monitor.cycles == [first + spacing * k for k in range(len(monitor.cycles))]
        await go_through(dut, run)
    assert update_latency(params) + params.update_lead == stage.read_latency
