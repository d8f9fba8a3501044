"""Nothing stops for ever while all systems use the switch for long, on bad links."""

import cocotb
import pytest

from hdl.network_switch.switch import NetworkSwitch
from sim.harness.verilator import simulate
from tests.hdl.network_switch.bench import TINY, run_all

SCALE = 30  #: for more than 240,000 cycles


@pytest.mark.long
def test_endurance():
    simulate(NetworkSwitch(TINY), __name__)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_long_run(dut):
    await run_all(dut, bad=True, scale=SCALE)
