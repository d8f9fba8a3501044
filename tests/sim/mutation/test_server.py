"""Tests what can be seen outside of the simulator; test_trial.py has the rest."""

import os
import time

from sim.mutation.server import tried, wait_for


def child_that(does):
    child = os.fork()
    if not child:
        try:
            does()
        finally:
            os._exit(3)
    return child


def test_waits_for_the_end():
    status, usage, late = wait_for(child_that(lambda: None), 10)
    assert os.WEXITSTATUS(status) == 3
    assert usage.ru_utime < 5
    assert not late


def test_waits_no_longer_than_it_may():
    start = time.monotonic()
    status, _, late = wait_for(child_that(lambda: time.sleep(60)), 0.2)
    assert late
    assert os.WIFSIGNALED(status)
    assert 0.2 <= time.monotonic() - start < 30


def outcomes(*, second):
    """Return who is tried, and the outcomes, if the unbroken design has another one at the end."""
    answers = {0: ["passed", second], 4: ["failed"], 5: ["crashed"], 6: ["failed"]}
    tried_ones = []

    def attempt(number, most):
        tried_ones.append(number)
        return {"outcome": answers[number].pop(0), "seconds": 1.0}

    result = [verdict["outcome"] for verdict in tried(attempt, (4, 5, 6), 10)]
    return tried_ones, result


def test_a_simulator_that_died_is_judged_beside_one_that_should_not():
    """What kills each simulator from some time on is not a mutant that is found."""
    assert outcomes(second="crashed") == (
        [0, 4, 5, 6, 0],
        ["passed", "failed", "crashed", "failed", "crashed"],
    )
    without = tried(lambda number, most: {"outcome": "failed", "seconds": 1.0}, (4, 5), 10)
    assert [verdict["outcome"] for verdict in without] == ["failed"]
