"""Carries out training steps on a simulated system, inside the simulator, as it is asked to."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from sim.network_switch.step.step_host import StepHost
from sim.switchgnn.network.in_simulator import served


@cocotb.test()
async def step(dut: Any) -> None:
    """Answer requests until nobody is there to ask; then complete the logs."""
    await served(dut, StepHost)
    dut.ends.value = 1
    await ClockCycles(dut.clk, 3)
