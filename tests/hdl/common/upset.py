"""Resets a component in the middle of things, as values at power-up would hide errors."""

import random

from amaranth.lib import wiring
from cocotb.triggers import Timer

from sim.harness.streams import PERIOD_NS, start
from sim.harness.verilator import component_in_simulator

#: with these at the end, much comes, nothing leaves and all stays
CROWDED = {"valid": 1, "ready": 0, "clear": 0}


def inputs_of(dut):
    """Return the input ports of the component under test, without its clock and its reset."""
    component = component_in_simulator()
    members = component.signature.flatten(component)
    names = ("_".join(map(str, path)) for path, member, _ in members if member.flow == wiring.In)
    return [getattr(dut, name) for name in names if hasattr(dut, name)]


async def start_upset(dut, cycles=40):
    """Start after some cycles of random inputs, which are 0 again when the reset comes.

    Towards the end all is full, so that the reset has something to undo.
    """
    inputs = inputs_of(dut)
    dut.rst.value = 0
    for cycle in range(cycles):
        for port in inputs:
            port.value = random.getrandbits(len(port))
            if cycle >= cycles // 2 and port._name.endswith(tuple(CROWDED)):
                port.value = next(CROWDED[name] for name in CROWDED if port._name.endswith(name))
        for level in (0, 1):
            dut.clk.value = level
            await Timer(PERIOD_NS / 2, unit="ns")
    for port in inputs:
        port.value = 0
    return await start(dut)
