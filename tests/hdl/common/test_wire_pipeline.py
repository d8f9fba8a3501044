import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams
from sim.harness.streams import start
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate


def test_wire_pipeline():
    simulate(WirePipeline(WirePipelineParams(shape=9, stages=3)), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def shows_what_was_whether_a_reset_lasts_or_not(dut):
    params = params_in_simulator(WirePipelineParams)
    latency = component_in_simulator().latency
    assert latency == params.stages
    dut.i.value = 0
    await start(dut)
    path = [0] * latency  # values under way, the oldest first
    for _ in range(2000):
        dut.rst.value = random.random() < 0.1
        dut.i.value = value = random.getrandbits(params.width)
        await RisingEdge(dut.clk)
        assert int(dut.o.value) == path[0]
        path = [*path[1:], value]
