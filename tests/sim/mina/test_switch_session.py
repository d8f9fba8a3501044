"""Runs a session of a MINA switch, the smallest, in RTL."""

from gen.designs.catalogue import find_design
from hdl.switch.tenant_control import TenantControl
from sim.mina.switch_session import TenantSwitchSession, TenantSwitchWorkload


def test_jobs_hold_a_switch_in_turn(tmp_path):
    params = find_design("mina-switch").params_of("tiny")
    session = TenantSwitchSession(params, TenantSwitchWorkload())
    build = session.build(session.hardware(session.params, session.asked))
    result = session.run(build, tmp_path, clock_mhz=250)
    found = result.figures
    assert found.keys() == session.counted.keys()
    assert found["grants"] > 3
    assert found["refusals"] > 3
    assert 0 < found["busy_cycles"] < found["granted_cycles"]
    assert found["refusal_cycles"] < found["grant_cycles"]
    assert found["release_cycles"] == found["refusal_cycles"] + TenantControl(params).ending
    assert found["operations"] > 20
    assert found["packets_refused"] > 20
    verdicts = result.details["packets_by_verdict"]
    assert found["packets_taken"] == verdicts["ADDED"] + verdicts["ACKNOWLEDGED"]
    assert sum(job["grants"] for job in result.details["jobs"]) == found["grants"]
