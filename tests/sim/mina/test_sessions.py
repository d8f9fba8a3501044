"""Runs a session of the smallest switch in RTL, and that of a schedule."""

from dataclasses import replace
from pathlib import Path

import pytest

from gen.designs.catalogue import find_design
from gen.sweep.plan import Plan
from gen.sweep.spec import read_spec
from hdl.switch.tenant_control import TenantControl
from sim.harness.cache import CHECKOUT
from sim.mina.schedule import schedule
from sim.mina.schedule_session import ScheduleSession
from sim.mina.switch_session import TenantSwitchSession, TenantSwitchWorkload
from sim.mina.workload import ScheduleWorkload


def test_jobs_hold_a_switch_in_turn(tmp_path):
    params = find_design("mina-switch").params_of("tiny")
    session = TenantSwitchSession(params, TenantSwitchWorkload())
    build = session.build(session.hardware(session.params, session.requested))
    result = session.run(build, tmp_path, clock_mhz=250)
    observed = result.figures
    assert observed.keys() == session.counted.keys()
    assert observed["grants"] > 3
    assert observed["refusals"] > 3
    assert 0 < observed["busy_cycles"] < observed["granted_cycles"]
    assert observed["refusal_cycles"] < observed["grant_cycles"]
    assert observed["release_cycles"] == observed["refusal_cycles"] + TenantControl(params).ending
    assert observed["operations"] > 20
    assert observed["packets_refused"] > 20
    verdicts = result.details["packets_by_verdict"]
    assert observed["packets_taken"] == verdicts["ADDED"] + verdicts["ACKNOWLEDGED"]
    assert sum(job["grants"] for job in result.details["jobs"]) == observed["grants"]


FEW = ScheduleWorkload(count=20, topology="4,4,16:1,4,4", gpu_speed=1.5, ratio=1.5)


def test_figures_are_the_schedules():
    result, figures = schedule(FEW), ScheduleSession.calculate(None, FEW)
    assert figures.keys() == ScheduleSession.calculated.keys()
    assert (figures["score"], figures["utilisation"]) == (result.score, result.utilisation)
    plain = (result.without_ina - result.time).mean() / (result.without_ina - result.all).mean()
    assert figures["mean_score"] == pytest.approx(plain)
    assert figures["mean_utilisation"] == pytest.approx((result.in_ina / result.time).mean())
    assert 0 < figures["score"] <= figures["bound"] <= 1 + 1e-9


def test_what_is_undefined_is_missing():
    figures = ScheduleSession.calculate(None, replace(FEW, bandwidth=25e9, gpu_speed=1.0))
    assert figures.keys() == {"utilisation", "mean_utilisation", "migrations", "seconds"}


def test_jobs_of_a_file_are_read():
    assert ScheduleSession.files(replace(FEW, jobs="mine.json")) == [Path("mine.json")]
    with pytest.raises(ValueError, match=r"mine\.json: no such file"):
        ScheduleSession.calculate(None, replace(FEW, jobs="mine.json"))


def test_the_example_compares_algorithms_in_regimes():
    example = CHECKOUT / "gen/sweep/examples/mina-schedules.toml"
    points = Plan(read_spec(example)[0]).points()
    assert not any(point.row.error for point in points)
    regimes = {(p.workload.unit, p.workload.ratio, p.workload.gpu_speed) for p in points}
    assert (len(regimes), len(points)) == (8, 32)
