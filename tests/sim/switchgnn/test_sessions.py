"""Runs sessions of the smallest switch and the smallest endpoint in RTL."""

import pytest

from gen.designs.catalogue import find_design
from sim.switchgnn.endpoint_session import EndpointSession, EndpointWorkload
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


TINY = find_design("switchgnn-endpoint").params_of("tiny")


@pytest.mark.long
def test_an_endpoint_sends_and_takes(tmp_path):
    asked = EndpointWorkload(features=40, fan_in=3, read_latency=8, link_latency=4)
    session = EndpointSession(TINY, asked)
    build = session.build(session.hardware(session.params, session.asked))
    result = session.run(build, tmp_path, clock_mhz=250)
    found = result.figures
    assert found.keys() == session.counted.keys()
    assert result.details["counters"]["sent_feature"] == 80
    assert result.details["counters"]["taken_sum"] == 2 * 14
    assert found["sent_again"] == 0
    assert 2 <= found["cycles_per_feature"] == found["cycles"] / 80 < 40
    assert found["features_per_second"] == pytest.approx(250e6 * 80 / found["cycles"])


def test_more_sums_than_aggregators_are_refused():
    with pytest.raises(ValueError, match="40 features, 2 to a sum, need 20 aggregators; the"):
        EndpointSession(TINY, EndpointWorkload(features=40, fan_in=2))


def test_tables_beyond_the_address_are_refused():
    with pytest.raises(ValueError, match=r"do not fit the .* bytes of memory for .*: send"):
        EndpointSession(TINY, EndpointWorkload(features=4096, fan_in=256, turns=64))
