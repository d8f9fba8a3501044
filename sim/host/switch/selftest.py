"""Tests a card with a switch of jobs: its registers, its counters, its links."""

from functools import partial
from typing import Any

from sim.host.selftest.card_checks import card_checks
from sim.host.selftest.checks import Check
from sim.host.selftest.program import run_program
from sim.host.switch.job_switch import JobSwitch

ABOUT = "a switch: write and read its registers, clear its counters, let each cage hear itself"
BUSY = ("cycles", "waits_for_task")  #: counters of cycles in which nothing needs to happen
NAMES = ("registers", "counters", "links")


def checks_of(switch: JobSwitch, mode: str) -> dict[str, Check]:
    """Return the checks of a switch's card by name."""

    def counters() -> dict[str, Any]:
        ports: dict[str, Any] = {"verdict, port": switch.verdicts(), "port": switch.port_counters()}
        return ports | switch.counters()

    return card_checks(switch, counters, mode, busy=BUSY)


main = partial(run_program, ABOUT, NAMES, ("loopback",), checks_of)
