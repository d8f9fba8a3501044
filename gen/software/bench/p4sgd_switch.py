"""Lets two workers add up numbers in the simulated switch, by frames that are in time or not.

``python bench/run.py +seed=1`` builds the Verilog and runs this. Copy it for tests of your own.
"""

from random import Random
from typing import Any

import cocotb
from p4sgd_switch_host import BUILD, attach
from p4sgd_switch_host.simulated_switch import SimulatedSwitch, run_on
from p4sgd_switch_host.workers import play_runs

ROUNDS = 40  #: of 12 frames, in time, repeated, late, early or damaged, in each run of the job


@cocotb.test()
async def adds_up_what_two_workers_send(dut: Any) -> None:
    """Run a job of ports 0 and 1, and compare all that leaves with the golden model."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    rng = Random(int(cocotb.plusargs.get("seed", 1)))
    play_runs(device, attach(device), ROUNDS, rng)
    print("all frames of two runs of a job were answered as due")
