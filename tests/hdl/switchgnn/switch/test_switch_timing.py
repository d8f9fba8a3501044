"""Measures the switch with nothing in the way: its latency, its rows, and sums that leave."""

from dataclasses import replace

import cocotb
import numpy as np
import pytest

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import ON_TWO_DIES, PRESETS
from hdl.switchgnn.switch.sizes import DELIVERY_CYCLES
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.verilator import simulate
from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.switch_bench import begin
from tests.hdl.switchgnn.switch.switch_bench import feature, setup_of

#: cycles from a completing feature's last beat to its sum's head, with all lanes in one die (the
#: page); with lanes in two dies it is more by what FarLanes takes
MAX_LATENCY = 32
SMALL = GnnSwitchParams(**PRESETS["small"])
#: Frames are as long as those of preset full, and every queue is of the same kind of memory.
AS_LONG_AS_FULL = GnnSwitchParams(
    ports=2, jobs=2, banks=2, slots=32, rows=64, descriptor_rows=64, style="distributed"
)


def test_switch_timing():
    simulate(GnnSwitch(SMALL), __name__)


@pytest.mark.long
@pytest.mark.parametrize("dies", [{}, ON_TWO_DIES], ids=["one", "two"])
def test_latency_with_long_frames(dies):
    params = replace(AS_LONG_AS_FULL, **dies)
    simulate(GnnSwitch(params), __name__, test_filter="a_sum_leaves_soon")


async def begin_job(dut, setup_for):
    bench = await begin(dut)
    setup = setup_for(bench.params)
    await bench.host.start_job(0, setup=setup, epoch=1, base=0)
    await bench.idle(100)
    bench.frames.clear()
    return bench


def results(bench, port=None):
    return [
        frame for _, at, frame in bench.frames if frame.kind is Kind.RESULT and port in (None, at)
    ]


async def until(bench, happened, most=5000):
    for _ in range(most):
        if happened():
            return
        await bench.step()
    raise AssertionError(f"not within {most} cycles")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_sum_leaves_soon(dut):
    """The sum's head follows the last beat of the feature that completes it."""
    count = 8
    bench = await begin_job(
        dut,
        lambda params: setup_of(
            params, [[k] + [None] * (params.banks - 1) for k in range(count)], 1
        ),
    )
    result = []
    for k in range(count):
        bench.frames.clear()
        port = k % bench.params.ports
        bench.send(port, feature(bench.params, port, k // bench.params.ports, k, 1))
        await until(bench, lambda: results(bench))
        result.append(bench.heads[-1] - bench.inside[-1][1])
        await bench.idle(k)
    cocotb.log.info(f"cycles to the sum's head: {result}")
    longer = bench.params.delivery_cycles - DELIVERY_CYCLES
    assert max(result) <= MAX_LATENCY + longer, result


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_row_is_added_every_cycle(dut):
    """Rows go to the same aggregator of every bank, over and over."""
    each, length = 8, 16
    bench = await begin_job(
        dut,
        lambda params: setup_of(
            params, [[5] * params.banks] * length, params.ports * each * length
        ),
    )
    params = bench.params
    frames = [
        (port, feature(params, port, seq, 0, length))
        for seq in range(each)
        for port in range(params.ports)
    ]
    for port, frame in frames:
        bench.send(port, frame)
    await until(bench, lambda: len(results(bench)) == params.banks)
    rows = len(frames) * length
    first_in = min(at for _, at in bench.inside)
    begun = bench.heads[-params.banks] - first_in
    assert begun <= rows + MAX_LATENCY, f"{rows} rows took {begun} cycles"
    total = length * sum(frame.payload.astype(np.int64) for _, frame in frames)
    for frame in results(bench):
        assert frame.list // params.banks == 5
        assert frame.payload.tolist() == total.tolist()
    counts = await bench.host.counters()
    assert counts["rows"] == rows
    assert counts["additions"] == rows * params.banks


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def all_sums_complete_at_once(dut):
    """One port takes nothing: the others get all of theirs at full rate, and it later.

    No bank has a hole until all rows are added; then a sum a cycle leaves, for all ports together.
    """
    depth = 64
    bench = await begin_job(
        dut,
        lambda params: setup_of(
            params,
            [[k] * params.banks for k in range(depth)],
            1,
            lambda k: k // params.banks % 4,
            depth,
        ),
    )
    params = bench.params
    bench.takes[3] = False
    sent = feature(params, 0, 0, 0, depth)
    bench.send(0, sent)
    await until(bench, lambda: all(len(results(bench, port)) == depth for port in range(3)))
    took = bench.now - bench.inside[0][1]
    most = depth + 1.1 * max(depth * params.result_beats, depth * params.banks)
    assert took <= most + MAX_LATENCY, took
    assert not results(bench, 3)
    bench.takes[3] = True
    await until(bench, lambda: len(results(bench, 3)) == depth)
    await bench.idle(200)
    lists = sorted(frame.list for frame in results(bench))
    assert lists == list(range(params.banks * depth))
    for frame in results(bench):
        assert frame.payload.tolist() == sent.payload.tolist()
