"""Resets a component in the middle of things, as values at power-up would hide errors."""

import random
from typing import Any

from cocotb.triggers import Timer

from sim.harness.clock import PERIOD_NS
from sim.harness.cut_short import inputs
from sim.harness.streams import start

__all__ = ["start_upset", "upset"]

#: with these at the end, much comes, nothing leaves and all stays
CROWDED = {"valid": 1, "ready": 0, "clear": 0}


async def upset(dut: Any, cycles: int = 40) -> None:
    """Let the component see random inputs for some cycles, and then those that it had before.

    Towards the end all is full, so that the reset that comes next has something to undo.
    """
    await Timer(1, "step")  # what has just been set is there
    before = [(port, port.value) for _, port in inputs(dut)]
    dut.rst.value = 0
    for cycle in range(cycles):
        for port, _ in before:
            port.value = random.getrandbits(len(port))
            if cycle >= cycles // 2 and port._name.endswith(tuple(CROWDED)):
                port.value = next(CROWDED[name] for name in CROWDED if port._name.endswith(name))
        for level in (0, 1):
            dut.clk.value = level
            await Timer(PERIOD_NS / 2, unit="ns")
    for port, value in before:
        port.value = value


async def start_upset(dut: Any) -> None:
    """Start the clock as :func:`sim.harness.streams.start` does, after random inputs."""
    await upset(dut)
    await start(dut)
