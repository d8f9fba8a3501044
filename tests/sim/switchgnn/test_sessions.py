"""Runs sessions of the smallest switch and the smallest endpoint in RTL."""

import pytest

from gen.designs.catalogue import find_design
from sim.switchgnn.endpoint_session import EndpointSession, EndpointWorkload
from sim.switchgnn.switch_session import GnnSwitchSession, GnnSwitchWorkload


def test_a_switch_takes_a_row_a_cycle(tmp_path):
    session = GnnSwitchSession(
        find_design("switchgnn-switch").params_of("tiny"), GnnSwitchWorkload()
    )
    build = session.build(session.hardware(session.params, session.requested))
    result = session.run(build, tmp_path, clock_mhz=250).figures
    assert 1 <= result["latency_cycles"] <= 32
    assert 0.9 < result["rows_per_cycle"] <= 1
    assert 0.55 < result["results_per_cycle"] <= 1  # its rows leave no holes, 16 of 48 cycles
    assert 0.3 < result["features_per_cycle"] <= 1
    assert result["features_per_second"] == result["features_per_cycle"] * 250e6
    assert result.keys() == session.counted.keys()


TINY = find_design("switchgnn-endpoint").params_of("tiny")


@pytest.mark.long
def test_an_endpoint_sends_and_takes(tmp_path):
    requested = EndpointWorkload(features=40, fan_in=3, read_latency=8, link_latency=4)
    session = EndpointSession(TINY, requested)
    build = session.build(session.hardware(session.params, session.requested))
    result = session.run(build, tmp_path, clock_mhz=250)
    observed = result.figures
    assert observed.keys() == session.counted.keys()
    assert result.details["counters"]["sent_feature"] == 80
    assert result.details["counters"]["taken_sum"] == 2 * 14
    assert observed["sent_again"] == 0
    assert 2 <= observed["cycles_per_feature"] == observed["cycles"] / 80 < 40
    assert observed["features_per_second"] == pytest.approx(250e6 * 80 / observed["cycles"])


def test_more_sums_than_aggregators_are_refused():
    with pytest.raises(ValueError, match="40 features, 2 to a sum, need 20 aggregators; the"):
        EndpointSession(TINY, EndpointWorkload(features=40, fan_in=2))


def test_tables_beyond_the_address_are_refused():
    with pytest.raises(ValueError, match=r"do not fit the .* bytes of memory for .*: send"):
        EndpointSession(TINY, EndpointWorkload(features=4096, fan_in=256, turns=64))
