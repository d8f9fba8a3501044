import random

import cocotb
import pytest
from amaranth.lib.wiring import In
from cocotb.triggers import RisingEdge

from gen.synth.device import U280
from hdl.p4sgd.core.group_params import GroupParams
from hdl.p4sgd.core.slr_crossing import IN_LOOP, WEIGHT_PARTS, SlrCrossing
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.payloads import unpack
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.p4sgd.bench import clock, lingers, wild_bits

ENGINE = EngineParams(lanes=32, chunks=4, data_parallel=True)
WORKER = WorkerParams(engines=4, slrs=2, slr_stages=3, engine=ENGINE)


def test_slr_crossing():
    simulate(SlrCrossing(GroupParams(worker=WORKER, index=0)), __name__)


@pytest.mark.parametrize(("index", "wires"), [(0, 4159), (1, 2585)])
def test_full_size_fits_the_wires(index, wires):
    crossing = SlrCrossing(GroupParams(worker=WorkerParams(slrs=3), index=index))
    assert crossing.wires == wires < U280.crossing_wires


async def quiet(dut):
    """Let nothing come from anywhere."""
    component = component_in_simulator()
    for path, member, _ in component.signature.flatten(component):
        if member.flow is In:
            getattr(dut, "_".join(path)).value = 0
    await streams.start(dut)
    await clock(dut, 20)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    path=[
        ("near_settings", "far_settings"),
        ("near_begin", "far_begin"),
        ("near_exchanging", "far_exchanging"),
        ("near_refill", "far_refill"),
        ("far_loaded", "near_loaded"),
        ("far_updated", "near_updated"),
        ("far_events", "near_events"),
        ("far_waiting", "near_waiting"),
    ]
)
async def plain_wires_keep_step(dut, path):
    """All of them take the same number of cycles, so none overtakes another."""
    stages = params_in_simulator(GroupParams).worker.slr_stages
    await quiet(dut)
    source, target = (getattr(dut, name) for name in path)
    sent = [random.getrandbits(len(source)) for _ in range(100)]
    shown = []
    for value in sent:
        source.value = value
        await RisingEdge(dut.clk)
        shown.append(int(target.value))
    assert shown[stages:] == sent[:-stages]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def finished_is_never_that_of_the_run_before(dut):
    stages = params_in_simulator(GroupParams).worker.slr_stages
    await quiet(dut)
    dut.far_finished.value = 1
    await clock(dut, stages + 1)
    for run in range(20):
        assert dut.near_finished.value
        dut.near_begin.value = 1
        await RisingEdge(dut.clk)
        dut.near_begin.value = 0
        cycles = 0
        while not dut.far_begin.value:
            cycles += 1
            await RisingEdge(dut.clk)
            assert not dut.near_finished.value
        assert cycles == stages
        dut.far_finished.value = 0  # as an engine's: in the cycle after its start
        for _ in range(1 + run):
            await RisingEdge(dut.clk)
            assert not dut.near_finished.value
        dut.far_finished.value = 1
        for _ in range(stages):
            await RisingEdge(dut.clk)
            assert not dut.near_finished.value
        await clock(dut, random.randrange(1, 3))


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(index=[0, 1])
async def nobody_waits_while_a_word_is_on_its_path(dut, index):
    params = params_in_simulator(GroupParams)
    stages = params.worker.slr_stages
    await quiet(dut)
    dut.far_waiting.value = everyone = (1 << len(params.beyond)) - 1
    await clock(dut, stages + 1)
    getattr(dut, f"near_words_{index}_valid").value = 1
    await RisingEdge(dut.clk)
    assert int(dut.near_waiting.value) == everyone
    getattr(dut, f"near_words_{index}_valid").value = 0
    for _ in range(20):
        await RisingEdge(dut.clk)
        assert int(dut.near_waiting.value) == everyone & ~(1 << index)
    getattr(dut, f"far_words_{index}_ready").value = 1
    for _ in range(stages + 2):
        assert int(dut.near_waiting.value) == everyone & ~(1 << index)
        await RisingEdge(dut.clk)
    assert int(dut.near_waiting.value) == everyone


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    path=[
        ("near_load", "far_load", 1),
        ("far_peeked", "near_peeked", 1),
        ("near_peek", "far_peek", 0),
        ("near_deltas", "far_deltas", 0),
        ("far_partials", "near_partials", 0),
        ("near_words_0", "far_words_0", 0),
        ("near_words_1", "far_words_1", 0),
    ],
    stalls=streams.STALLS,
)
async def streams_arrive_in_order(dut, path, stalls):
    """What has eight weights goes in parts, and takes as many cycles more."""
    source, target, in_parts = path
    await quiet(dut)
    side, _, name = source.partition("_")
    shape = getattr(getattr(component_in_simulator(), side), name).payload.shape()
    beats = [wild_bits(shape) for _ in range(60)]
    pause, hold = map(lingers, stalls)
    sending = cocotb.start_soon(streams.send(dut, source, beats, pause))
    received, cycles = await streams.receive(dut, target, len(beats), hold)
    sent = await sending
    assert received == [unpack(shape, beat) for beat in beats]
    if stalls.absent:
        more = (WEIGHT_PARTS + 1) * in_parts
        crossing = component_in_simulator()
        latency = crossing.loop_latency if name in IN_LOOP else crossing.latency
        assert cycles[0] == sent[0] + latency + more
        assert cycles[-1] - cycles[0] == (len(beats) - 1) * max(1, more)
