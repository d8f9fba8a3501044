import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.u280.flow_control import HOLD_CYCLES, FlowControlParams
from hdl.u280.pause_request import PauseRequest
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate


def test_pause_request():
    simulate(PauseRequest(FlowControlParams()), __name__)


def nearest(used, bit, value, step):
    """Return the first number of words from ``used`` on, by ``step``, that has this ``bit``."""
    while used >> bit & 1 != value:
        used += step
    return used


async def step(dut, used):
    """Play a cycle in which ``used`` words are inside."""
    dut.used.value = used
    await RisingEdge(dut.clk)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def requests_above_one_level_until_below_another(dut):
    params = params_in_simulator(FlowControlParams)
    dut.used.value = dut.pause.value = 0
    await start(dut)
    for bit in range(len(dut.used)):
        for used, request in (
            (params.stop_above, 0),
            (params.stop_above + 1, 1),
            (params.resume_at + 1, 1),
            (params.resume_at, 0),
            (params.beats, 1),
            (0, 0),
            # Where this bit alone tells them from one on the other side.
            (nearest(params.stop_above, bit, 0, -1), 0),
            (nearest(params.stop_above + 1, bit, 1, 1), 1),
            (nearest(params.resume_at + 1, bit, 1, 1), 1),
            (nearest(params.resume_at, bit, 0, -1), 0),
        ):
            before = int(dut.request.value)
            for _ in range(PauseRequest.latency):
                assert dut.request.value == before
                await step(dut, used)
            await step(dut, used)
            assert dut.request.value == request
            assert dut.begins.value == (request and not before)
            for _ in range(HOLD_CYCLES):
                await step(dut, used)
                assert not dut.begins.value
            assert dut.request.value == request


@cocotb.test(timeout_time=50, timeout_unit="us")
async def each_level_stays(dut):
    params = params_in_simulator(FlowControlParams)
    dut.used.value = dut.pause.value = 0
    await start(dut)
    lengths, length, level, begun = [], 0, 0, 0
    for _ in range(3000):
        await step(dut, random.choice((0, params.resume_at, params.stop_above + 1, params.beats)))
        begun += int(dut.begins.value)
        if dut.request.value == level:
            length += 1
        else:
            lengths.append(length)
            length, level = 1, int(dut.request.value)
    assert len(lengths) > 50
    assert min(lengths[1:]) == HOLD_CYCLES
    assert begun == (len(lengths) + 1) // 2


@cocotb.test(timeout_time=20, timeout_unit="us")
async def a_pause_is_requested_whatever_is_used(dut):
    params = params_in_simulator(FlowControlParams)
    dut.used.value = dut.pause.value = 0
    await start(dut)
    before = 0
    for used in (0, params.resume_at, params.resume_at + 1, params.beats, params.resume_at + 1, 0):
        for pause in (0, 1, 0, 0):
            dut.pause.value = pause
            for _ in range(PauseRequest.latency + HOLD_CYCLES):
                await step(dut, used)
            stop, resume = pause or used > params.stop_above, used <= params.resume_at
            before = 1 if stop else 0 if resume else before
            assert dut.request.value == before, (used, pause)
