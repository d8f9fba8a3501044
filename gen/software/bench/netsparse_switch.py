"""Sends reads and responses of two nodes through the simulated switch, set up as on a card.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from cocotb.task import bridge
from netsparse_switch_host import BUILD, attach
from netsparse_switch_host.simulated_nodes import Nodes, SimulatedNodes, run_gathers


@cocotb.test()
async def answers_what_it_has_seen(dut: Any) -> None:
    """Let node 0 ask node 1, behind an uplink, twice; what came the first time is answered here."""
    device = SimulatedNodes(dut, BUILD)
    await device.start()
    await bridge(program)(device)


def program(device: SimulatedNodes) -> None:
    """Do what a program does on a card; nothing of it knows that the device is simulated."""
    run_gathers(Nodes(device, BUILD.fixed["mtu"]), attach(device))
