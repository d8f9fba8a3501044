"""Begins a job anew at any time, end by end: its epoch alone keeps the runs apart."""

import pytest

from sim.p4sgd.golden.allreduce import Verdict
from tests.protocol.explore import explore
from tests.protocol.model import FREED_EARLY, WRONG_SUM
from tests.protocol.restarts import Restarting, Restarts
from tests.protocol.unordered import Lifetime

WRONG = {  # what is left out, and what goes wrong first
    "same epoch": ({"epochs": 1}, WRONG_SUM),
    "the switch does not look at the epoch": ({"switch_checks": False}, WRONG_SUM),
    "workers do not look at the epoch": ({"workers_check": False}, WRONG_SUM),
    "slots keep what they hold": ({"slots_cleared": False}, WRONG_SUM),
    "a worker begins anew by itself": ({"together": False}, FREED_EARLY),
    "an epoch comes back while packets of it live": ({"runs": 3, "epochs": 2}, WRONG_SUM),
}


def system(**changes):
    sizes = {"worker_count": 2, "width": 1, "total": 2}
    return Restarts(Restarting(**(sizes | changes)), Lifetime.BOUNDED)


@pytest.mark.parametrize(
    "sizes",
    [{}, {"width": 2, "total": 5}, {"runs": 3, "total": 1}, {"worker_count": 3, "total": 1}],
)
def test_runs_with_epochs_of_their_own_are_sound(sizes):
    """Packets of earlier runs live for ever; switch and workers begin anew in any order."""
    restarts = system(**sizes)
    found = explore(restarts)
    print(f"{sizes}: {found}")
    assert found.fault == "", str(found)
    assert {Verdict.WRONG_RUN, Verdict.FULL, Verdict.FREED} <= restarts.model.verdicts


@pytest.mark.parametrize("name", WRONG)
def test_each_part_of_the_rule_is_needed(name):
    changes, fault = WRONG[name]
    found = explore(system(**changes))
    print(f"{name}: {found}")
    assert found.fault == fault
    assert any("begins anew" in step for step in found.trace)
