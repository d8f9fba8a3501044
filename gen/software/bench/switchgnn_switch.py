"""Adds up features that two workers send to the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from switchgnn_switch_host import BUILD, attach
from switchgnn_switch_host.gnn_workers import EPOCH, GROUP, JOB, SWITCH, add_up, tables
from switchgnn_switch_host.simulated_switch import SimulatedSwitch, run_on


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Start a job of ports 0 and 1, send a feature from each, and look for their sum."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    switch = attach(device)
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)
    switch.set_acks(every=1, delay=100)
    own = tables(BUILD.fixed["banks"])
    switch.start_job(JOB, ports=[0, 1], epoch=EPOCH, base=0, depth=1, tables=own)
    add_up(device, switch)
    switch.stop_job(JOB)
