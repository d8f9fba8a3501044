"""Tests what can be seen outside of the simulator; test_trial.py has the rest."""

import os
import time

from sim.mutation.server import wait_for


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
