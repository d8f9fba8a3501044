"""Adds up what two workers send to the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from cocotb.task import bridge
from tenant_switch_host import BUILD, attach
from tenant_switch_host.simulated_switch import SimulatedSwitch
from tenant_switch_host.workers import add_up

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"
JOB, EPOCH, BASE, SLOTS = 1, 9, 4, 2


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Get the switch for a job of two ports, send from each, and look for the sum at both."""
    device = SimulatedSwitch(dut, BUILD)
    await device.start()
    await bridge(program)(device)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    switch = attach(device)
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)
    switch.share(most=1, ports_apart=False)
    switch.register(JOB, ports=[0, 1], base=BASE, slots=SLOTS)
    switch.acquire(JOB, EPOCH)
    add_up(device, SWITCH, job=JOB, epoch=EPOCH, slot=BASE)
    assert [switch.verdicts()[port]["ADDED"] for port in range(2)] == [1, 1]
    switch.release(JOB, EPOCH, force=True)
    assert switch.tenant_counters(JOB)["grants"] == 1
    print(f"both workers have the sum; {switch.counters()['packets']} frames were taken")
