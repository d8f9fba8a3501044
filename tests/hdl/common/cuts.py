"""Checks that outputs do not depend on inputs within a cycle."""

import random
from typing import Any

from cocotb.triggers import RisingEdge, Timer

from sim.harness import cut_short
from sim.harness.streams import start


async def stand_still(dut: Any, *outputs: Any, inputs: Any = None) -> None:
    """Check that ``outputs`` stay, whatever ``inputs``, all unless given, do within a cycle."""
    await start(dut)
    everything = [port for _, port in cut_short.inputs(dut)]
    for _ in range(200):
        await RisingEdge(dut.clk)
        seen = set()
        for moving in (everything, *[inputs or everything] * 3):
            for port in moving:
                port.value = random.getrandbits(len(port))
            await Timer(250, "ps")
            seen.add(tuple(int(output.value) for output in outputs))
        assert len(seen) == 1
