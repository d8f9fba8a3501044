"""Lets jobs hold the simulated switch in turn, and add up numbers by frames in time or not.

``python bench/run.py +seed=1`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from random import Random
from typing import Any

import cocotb
from tenant_switch_host import BUILD, attach
from tenant_switch_host.simulated_switch import SimulatedSwitch, run_on
from tenant_switch_host.tenant_workers import TenantWorkers
from tenant_switch_host.workers import EPOCH, JOB, PLACE

TURNS = 60  #: commands for jobs, each ahead of some frames


@cocotb.test()
async def adds_up_what_workers_send(dut: Any) -> None:
    """Get the switch for a job by registers, then by frames, whose workers then send frames."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers and its controller."""
    switch = attach(device)
    switch.share(most=1, ports_apart=False)
    switch.register(JOB, **PLACE)
    switch.acquire(JOB, EPOCH)
    switch.release(JOB, EPOCH, force=True)
    assert switch.tenant_counters(JOB)["grants"] == 1
    rng = Random(int(cocotb.plusargs.get("seed", 1)))
    TenantWorkers(device, switch, rng).take_turns(TURNS)
    print(f"{TURNS} commands, and all frames between them, were answered as due")
