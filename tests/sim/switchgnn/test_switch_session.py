"""Runs a session of a switch, the smallest, in RTL."""

from gen.designs.catalogue import find_design
from sim.switchgnn.switch_session import GnnSwitchSession, GnnSwitchWorkload


def test_a_switch_takes_a_row_a_cycle(tmp_path):
    session = GnnSwitchSession(
        find_design("switchgnn-switch").params_of("tiny"), GnnSwitchWorkload()
    )
    build = session.build(session.hardware(session.params, session.asked))
    found = session.run(build, tmp_path, clock_mhz=250).figures
    assert 1 <= found["latency_cycles"] <= 32
    assert 0.9 < found["rows_per_cycle"] <= 1
    assert 0.55 < found["results_per_cycle"] <= 1  # its rows leave no holes, 16 of 48 cycles
    assert 0.3 < found["features_per_cycle"] <= 1
    assert found["features_per_second"] == found["features_per_cycle"] * 250e6
    assert found.keys() == session.counted.keys()
