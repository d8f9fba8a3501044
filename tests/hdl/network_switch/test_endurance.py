"""Nothing stops for ever in a million cycles of all systems at once, on bad links."""

import cocotb
import pytest

from hdl.network_switch.switch import NetworkSwitch
from sim.harness.verilator import simulate
from tests.hdl.network_switch.bench import TINY, run_all

SCALE = 100  #: for a million cycles


@pytest.mark.long
def test_endurance():
    simulate(NetworkSwitch(TINY), __name__)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_million_cycles(dut):
    await run_all(dut, bad=True, scale=SCALE)
