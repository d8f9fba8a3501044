"""Stands in for a card with a switch: its registers, and the workers at its ports."""

from collections.abc import Callable
from typing import Any

from cocotb.task import bridge

from sim.host.simulated_ports import SimulatedPorts
from sim.host.switch.build import Build

ANSWER_CYCLES = 200  #: after which every answer to a frame has left


class SimulatedSwitch(SimulatedPorts):
    """Drives a simulated switch; its streams are called after their ports, ``0`` and so on."""

    def __init__(self, dut: Any, build: Build) -> None:
        super().__init__(dut, map(str, range(build.fixed["ports"])), ANSWER_CYCLES)


async def run_on(dut: Any, build: Build, program: Callable[[SimulatedSwitch], None]) -> None:
    """Reset the switch, then run a program that sets it up as on a card, and is its workers."""
    device = SimulatedSwitch(dut, build)
    await device.start()
    await bridge(program)(device)
