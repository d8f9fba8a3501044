"""Adds up what two workers send to the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from p4sgd_switch_host import BUILD, attach
from p4sgd_switch_host.simulated_switch import SimulatedSwitch, run_on
from p4sgd_switch_host.workers import EPOCH, JOB, PLACE, add_up, prepare


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Start a job of ports 0 and 1, send from each, and look for the sum at both."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    switch = attach(device)
    prepare(switch)
    switch.start_job(JOB, epoch=EPOCH, **PLACE)
    add_up(device, switch)
    switch.stop_job(JOB)
