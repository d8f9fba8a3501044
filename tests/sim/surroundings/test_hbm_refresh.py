"""Compares what a refresh costs a port with a count by hand."""

import pytest

from hdl.u280.hbm_port import READ_DEPTH
from sim.surroundings.hbm_refresh import Refresh


def test_cycles_are_those_of_the_core():
    refresh = Refresh(pause_ns=350)
    assert (refresh.interval, refresh.pause, refresh.hidden) == (975, 88, READ_DEPTH)
    assert refresh.delivered == 1 - (88 - READ_DEPTH) / 975
    slow = Refresh(pause_ns=350, clock_mhz=100)
    assert (slow.interval, slow.pause, slow.hidden, slow.delivered) == (390, 35, 35, 1.0)


def test_a_core_as_fast_as_hbm_fills_no_queue():
    fast = Refresh(pause_ns=350, clock_mhz=440)
    assert fast.hidden == int((450 / 440 - 1) * (1716 - 154)) < READ_DEPTH
    assert Refresh(clock_mhz=450).hidden == 0


def test_ports_that_share_a_channel_take_all_of_it():
    shared = Refresh(pause_ns=350, clock_mhz=225, shared=True)
    assert shared.hidden == 0
    assert shared.delivered == pytest.approx(1 - 350 / 3900, abs=0.002)
