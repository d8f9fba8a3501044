"""Runs a session of the NetSparse switch that its own test has, in RTL."""

import pytest

from sim.netsparse.switch_session import NetSparseSwitchSession, NetSparseSwitchWorkload
from tests.hdl.netsparse.switch.bench import SPINE, TOR
from tests.rejects import refuses


def test_a_pipe_keeps_its_rate(tmp_path):
    session = NetSparseSwitchSession(TOR, NetSparseSwitchWorkload(property_bytes=64, packets=30))
    build = session.build(session.hardware(session.params, session.asked))
    found = session.run(build, tmp_path, clock_mhz=250).figures
    print(found)
    assert found["read_prs_per_cycle"] > 0.9
    assert found["packets_per_second"] == pytest.approx(found["packets_per_cycle"] * 250e6)
    assert found.keys() == session.counted.keys()


test_refuses = refuses(
    lambda params, size: NetSparseSwitchSession(
        params, NetSparseSwitchWorkload(property_bytes=size)
    ),
    (TOR, 68, "property bytes must be a multiple of 4, from 4 to the 64 of the build: 68"),
    (TOR, 6, "from 4 to the 64 of the build: 6"),
    (SPINE, 64, "a switch without middle pipes has nothing to measure here: pipes=0"),
)
