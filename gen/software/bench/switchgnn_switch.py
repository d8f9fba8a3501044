"""Adds up features that two workers send to the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from switchgnn_switch_host import BUILD, attach
from switchgnn_switch_host.gnn_workers import run_job
from switchgnn_switch_host.simulated_switch import SimulatedSwitch, run_on


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Start a job of ports 0 and 1, send a feature from each, and look for their sum."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Do what a program does on a card; nothing of it knows that the device is simulated."""
    run_job(device, attach(device))
