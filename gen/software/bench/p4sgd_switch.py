"""Adds up what two workers send to the simulated switch, set up through its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from typing import Any

import cocotb
from cocotb.task import bridge
from p4sgd_switch_host import BUILD, attach
from p4sgd_switch_host.simulated_switch import SimulatedSwitch
from p4sgd_switch_host.workers import add_up

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"
JOB, EPOCH, BASE, SLOTS = 1, 9, 4, 2


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Start a job of ports 0 and 1, send from each, and look for the sum at both."""
    device = SimulatedSwitch(dut, BUILD)
    await device.start()
    await bridge(program)(device)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    switch = attach(device)
    switch.clear_counters()
    switch.set_addresses(SWITCH, GROUP)
    switch.start_job(JOB, ports=[0, 1], epoch=EPOCH, base=BASE, slots=SLOTS)
    add_up(device, SWITCH, job=JOB, epoch=EPOCH, slot=BASE)
    assert [switch.verdicts()[port]["ADDED"] for port in range(2)] == [1, 1]
    switch.stop_job(JOB)
    print(f"both workers have the sum; {switch.counters()['packets']} frames were taken")
