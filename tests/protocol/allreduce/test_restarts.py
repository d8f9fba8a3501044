"""Begins a job anew at any time, end by end: its epoch alone keeps the runs apart."""

import pytest

from tests.protocol.allreduce.network import Bounded, Lifetime, flat
from tests.protocol.allreduce.nodes import FREED_EARLY, WRONG_SUM, End
from tests.protocol.explore import check
from tests.protocol.restarts import Restarting, Restarts


class JobRestarts(Restarts, Bounded):
    """Keeps the bound on a packet's life within its run; those of earlier runs never go away."""

    def slots(self, ends: int) -> list[End]:
        """Return what the nodes hold in their runs."""
        return [held.held for held in self.held(ends)]


def slots_kept(old: End, start: End) -> End:
    """The switch's start of a run leaves its slots as they are."""
    return start._replace(slot=old.slot)


UNSAFE = {  # what is left out, and what goes wrong first
    "same epoch": ({"epochs": 1}, WRONG_SUM),
    "the switch does not look at the epoch": ({"switch_checks": False}, WRONG_SUM),
    "workers do not look at the epoch": ({"workers_check": False}, WRONG_SUM),
    "slots keep what they hold": ({"anew": slots_kept}, WRONG_SUM),
    "a worker begins anew by itself": ({"together": False}, FREED_EARLY),
    "an epoch comes back while packets of it live": ({"runs": 3, "epochs": 2}, WRONG_SUM),
}


def system(*, runs=2, workers=2, width=1, total=2, **rules):
    rules, tree = Restarting(runs=runs, **rules), flat(workers, width=width, total=total)
    jobs = [tree.job(run) for run in range(runs)]
    nodes = rules.nodes(map(tree.nodes, jobs))
    return JobRestarts(rules, jobs[0], nodes, Lifetime.BOUNDED, None)


@pytest.mark.parametrize(
    "sizes", [{}, {"width": 2, "total": 5}, {"runs": 3, "total": 1}, {"workers": 3, "total": 1}]
)
def test_runs_with_epochs_of_their_own_are_sound(sizes):
    """Packets of earlier runs live for ever; switch and workers begin anew in any order."""
    restarts = system(**sizes)
    check(str(sizes), restarts)
    steps = set().union(*map(restarts.steps_taken, range(len(restarts.nodes))))
    for verdict in ("is dropped", ": full", ": freed"):
        assert any(step.endswith(verdict) for step in steps)


@pytest.mark.parametrize("name", UNSAFE)
def test_each_part_of_the_rule_is_needed(name):
    changes, fault = UNSAFE[name]
    result = check(name, system(**changes), fault)
    assert any(step.endswith("anew") for step in result.trace)
