"""Tests a card with a SwitchGNN switch: as other switches, and the start and end of a job."""

from functools import partial

from sim.host.selftest.checks import Check, CheckFailed
from sim.host.selftest.program import run_program
from sim.host.switch.selftest import ABOUT as SWITCH
from sim.host.switch.selftest import NAMES as EVERY
from sim.host.switch.selftest import checks_of as checks_of_switch
from sim.switchgnn.host.gnn_switch import GnnSwitch, Tables

JOB, EPOCH = 1, 9
AGGREGATOR, HOME = 0, 1  #: where features are added, and the port that their sum goes to
ABOUT = f"{SWITCH}, start and stop a job"
NAMES = (*EVERY, "job")


def tables(banks: int) -> Tables:
    """Return tables by which two features are added, and nothing else."""
    row = [0] + [None] * (banks - 1)
    return Tables(lists=[row], blocks=[{AGGREGATOR: (2, HOME)}], program=[(0, 1)])


def checks_of(switch: GnnSwitch, mode: str) -> dict[str, Check]:
    """Return the checks of a switch's card by name."""
    return checks_of_switch(switch, mode) | {"job": lambda _: check_job(switch)}


main = partial(run_program, ABOUT, NAMES, ("loopback",), checks_of)


def check_job(switch: GnnSwitch) -> str:
    """Write a job's tables, start it and stop it; the switch says each time which are active."""
    active = []
    own = tables(switch.build.fixed["banks"])
    switch.start_job(JOB, ports=[0, 1], epoch=EPOCH, base=0, depth=1, tables=own)
    active.append(switch.registers.read("active_jobs"))
    switch.stop_job(JOB)
    active.append(switch.registers.read("active_jobs"))
    if active != [1 << JOB, 0]:
        raise CheckFailed(f"active_jobs reads {active[0]:#x} in job {JOB}, {active[1]:#x} after it")
    return f"job {JOB} was active until it was stopped"
