"""Runs a session of an endpoint, the smallest, in RTL."""

import pytest

from gen.designs.catalogue import find_design
from sim.switchgnn.endpoint_session import EndpointSession, EndpointWorkload

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
    with pytest.raises(ValueError, match=r"bytes of tables do not fit address_bits=20"):
        EndpointSession(TINY, EndpointWorkload(features=4096, fan_in=256, turns=64))
