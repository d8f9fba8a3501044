import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.output_lane import OutputLane, OutputLaneParams
from hdl.common.streams import LANE_BITS
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [OutputLaneParams(bits=bits) for bits in (1, LANE_BITS)]

test_output_lane = simulated(OutputLane, SIZES, __name__)


@pytest.mark.parametrize("bits", [0, LANE_BITS + 1])
def test_rejects(bits):
    with pytest.raises(ValueError, match="bits"):
        OutputLaneParams(bits=bits)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def holds_a_beat_until_it_is_taken(dut):
    """It loads whatever comes while it is empty or is being emptied, and never in between."""
    bits = params_in_simulator().bits
    await start(dut)
    dut.runs.value = dut.some.value = dut.ready.value = 0
    await RisingEdge(dut.clk)
    held, valid, lengths = None, False, set()
    for _ in range(2000):
        some, ready, runs = (random.random() < share for share in (0.6, 0.5, 0.85))
        word = random.getrandbits(bits)
        dut.i.value, dut.some.value, dut.ready.value, dut.runs.value = word, some, ready, runs
        await RisingEdge(dut.clk)
        assert held is None or int(dut.payload.value) == held
        lengths.add((valid, ready, runs, some))
        if not valid or ready:
            held = word
        valid = runs and (some if not valid or ready else True)
    assert len(lengths) == 16
