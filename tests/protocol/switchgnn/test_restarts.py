"""Begins a SwitchGNN job anew at any time, node by node: its epoch alone keeps the runs apart."""

from dataclasses import replace

import pytest

from sim.switchgnn.golden.job_state import Job
from tests.long import short_and_long
from tests.protocol.explore import STUCK, check
from tests.protocol.restarts import Restarting, Restarts
from tests.protocol.switchgnn.instances import COPIES, LOADS, PAIR, TRIANGLE
from tests.protocol.switchgnn.nodes import LEFT_BEHIND, WRONG_SUM

ONE_TURN = replace(PAIR, turns=1)
SYSTEMS = {
    "two turns": (PAIR, 2),
    "three workers": (replace(TRIANGLE, turns=1), 2),
    "three runs": (ONE_TURN, 3),
    "two open turns": (replace(PAIR, open_turns=2), 2),
    "copies": (replace(PAIR, turns=1, **COPIES), 2),
    "loads": (replace(PAIR, **LOADS), 2),
}
SHORT = ["two turns", "three workers", "loads"]


def windows_kept(old: Job, start: Job) -> Job:
    """The start of a run leaves the windows as they are."""
    return replace(start, open=old.open)


def aggregators_kept(old: Job, start: Job) -> Job:
    """The start of a run leaves the aggregators as they are, and takes them for loaded."""
    return replace(start, entries=old.entries, loaded=old.loaded)


def dones_kept(old: Job, start: Job) -> Job:
    """The start of a run leaves who is done as it is."""
    return replace(start, done=old.done)


UNSAFE = {  # what is left out, what goes wrong first, and after how many steps
    "same epoch": (Restarting(epochs=1), WRONG_SUM, 4),
    "the switch does not look at the epoch": (Restarting(switch_checks=False), WRONG_SUM, 4),
    "workers do not look at the epoch": (Restarting(workers_check=False), WRONG_SUM, 4),
    "windows are kept": (Restarting(anew=windows_kept), STUCK, 3),
    "aggregators are kept": (Restarting(anew=aggregators_kept), WRONG_SUM, 6),
    "who is done is kept": (Restarting(anew=dones_kept), LEFT_BEHIND, 15),
    "an epoch comes back while frames of it live": (
        Restarting(runs=3, epochs=2),
        WRONG_SUM,
        7,
    ),
}


def system(instance, rules):
    runs = [replace(instance, run=run).nodes for run in range(rules.runs)]
    return Restarts(rules, rules.nodes(runs), instance.doubles)


@pytest.mark.parametrize("name", short_and_long(SYSTEMS, SHORT))
def test_runs_with_epochs_of_their_own_are_safe_and_live(name):
    instance, runs = SYSTEMS[name]
    check(name, system(instance, Restarting(runs=runs)))


@pytest.mark.parametrize("name", UNSAFE)
def test_each_part_of_the_rule_is_needed(name):
    rules, fault, steps = UNSAFE[name]
    result = check(name, system(ONE_TURN, rules), fault, steps)
    assert any("begins run" in step for step in result.trace)
