"""Adds up what two workers send to the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from tenant_switch_host import BUILD, attach
from tenant_switch_host.simulated_switch import SimulatedSwitch, run_on
from tenant_switch_host.workers import EPOCH, JOB, PLACE, add_up, prepare


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Get the switch for a job of two ports, send from each, and look for the sum at both."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    switch = attach(device)
    prepare(switch)
    switch.share(most=1, ports_apart=False)
    switch.register(JOB, **PLACE)
    switch.acquire(JOB, EPOCH)
    add_up(device, switch)
    switch.release(JOB, EPOCH, force=True)
    assert switch.tenant_counters(JOB)["grants"] == 1
