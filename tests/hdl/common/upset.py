"""Resets a component in the middle of things, as values at power-up would hide errors."""

import random

from cocotb.triggers import Timer

from sim.harness.cut_short import inputs
from sim.harness.streams import PERIOD_NS, start

#: with these at the end, much comes, nothing leaves and all stays
CROWDED = {"valid": 1, "ready": 0, "clear": 0}


async def start_upset(dut, cycles=40):
    """Start after some cycles of random inputs, which are 0 again when the reset comes.

    Towards the end all is full, so that the reset has something to undo.
    """
    ports = [port for _, port in inputs(dut)]
    dut.rst.value = 0
    for cycle in range(cycles):
        for port in ports:
            port.value = random.getrandbits(len(port))
            if cycle >= cycles // 2 and port._name.endswith(tuple(CROWDED)):
                port.value = next(CROWDED[name] for name in CROWDED if port._name.endswith(name))
        for level in (0, 1):
            dut.clk.value = level
            await Timer(PERIOD_NS / 2, unit="ns")
    for port in ports:
        port.value = 0
    return await start(dut)
