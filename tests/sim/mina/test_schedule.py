"""Compares whole schedules with the authors' numbers, and with the marks that ours must reach."""

from dataclasses import replace

import numpy as np
import pytest

from sim.mina.bound import bound_of
from sim.mina.jobs import JobList, TrainingJob, drawn_jobs
from sim.mina.models import known_models
from sim.mina.reproduce import paper
from sim.mina.reproduce.placing import LINKS, with_links
from sim.mina.reproduce.runs import BASELINE, MINA, OWN, rows_of
from sim.mina.schedule import schedule
from sim.mina.sharing import step_seconds
from sim.mina.workload import Lock, Placement, ScheduleWorkload, Sharing, Trees, Unit

PLACED = rows_of("P--")
SLOW = {"gpu_speed": 1.5, "ratio": 1.5}


def test_jobs_are_those_of_the_authors():
    jobs = drawn_jobs(1, 1000, 42).jobs
    first = [(job.model, job.hosts, job.steps) for job in jobs[:3]]
    assert first == [("ViT-base", 4, 70), ("OPT-350M", 16, 100), ("OPT-125M", 16, 60)]
    assert np.mean([job.hosts for job in jobs]) == pytest.approx(11.908)


def test_steps_of_the_models():
    without_ina, all_ina = step_seconds(ScheduleWorkload(**SLOW), drawn_jobs(1, 1, 42))
    expected = {
        "OPT-125M": (69.79, 63.01),
        "OPT-350M": (159.95, 146.17),
        "OPT-1.3B": (620.4, 507.8),
        "BERT-base": (59.58, 53.81),
        "BERT-large": (164.0, 147.9),
        "ViT-base": (39.52, 38.25),
        "ViT-large": (126.8, 94.44),
    }
    for row, (name, steps) in enumerate(expected.items()):
        assert list(known_models())[row] == name
        result = 1e3 * np.array([without_ina[row, 1], all_ina[row, 1]])
        assert result == pytest.approx(steps, rel=5e-4), name


@pytest.mark.parametrize(
    ("requested", "score", "used"),
    [
        (BASELINE, 0.1709, 0.0566),
        (PLACED, 0.5481, 0.1721),
        (replace(BASELINE, **SLOW), 0.2248, None),
        (replace(PLACED, **SLOW), 0.5809, None),
        (replace(BASELINE, unit=Unit.PORT), 0.7676, None),
        (replace(PLACED, unit=Unit.PORT), 0.9185, None),
    ],
)
def test_baseline_and_placement_are_the_binarys(requested, score, used):
    result = schedule(requested)
    assert result.score == pytest.approx(score, abs=5e-5)
    assert used is None or result.utilisation == pytest.approx(used, abs=5e-5)
    assert result.events == 3_875_870
    if requested is BASELINE:
        assert result.mean_score == pytest.approx(0.2531, abs=5e-5)  # the paper's words, and .263


@pytest.mark.long
def test_baselines_of_all_traces_and_links():
    """These are the baselines of Figures 11 and 13."""
    scores = [schedule(replace(BASELINE, trace=trace)).score for trace in range(1, 11)]
    assert scores == pytest.approx(paper.BINARY_BASELINES, abs=7e-5)
    for binary, placement in [
        (paper.BINARY_FIRST, Placement.FIRST),
        (paper.BINARY_DP, Placement.DP),
    ]:
        scores = [schedule(with_links(links, placement)).score for links in LINKS]
        assert scores == pytest.approx(binary, abs=6e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "trees", "all_three"),
    [
        ({}, (0.6036, 0.1730), (0.9410, 0.1757)),
        (SLOW, (0.655, None), (0.6958, None)),
        ({"unit": Unit.PORT}, (0.973, None), (0.997, None)),
    ],
)
def test_trees_and_sharing_are_near_the_binarys(changes, trees, all_three):
    for name, (score, used) in (("PT-", trees), ("PTS", all_three)):
        result = schedule(replace(rows_of(name), **changes))
        assert result.score == pytest.approx(score, abs=0.03)
        assert used is None or result.utilisation == pytest.approx(used, abs=0.005)


@pytest.mark.parametrize(
    ("changes", "least"),
    [
        ({}, 0.99),
        ({"unit": Unit.PORT}, 0.99),
        (SLOW, 0.82),
        ({"gpu_speed": 1.5}, 0.90),
        ({"unit": Unit.PORT, **SLOW}, 0.99),
    ],
)
def test_our_best(changes, least):
    """No schedule goes beyond the bound on its placement."""
    result = schedule(replace(OWN, **changes))
    bound = bound_of(result)
    assert result.score is not None
    assert bound is not None
    assert least <= result.score <= bound + 1e-9
    assert bound <= 1 + 1e-9


def test_our_best_of_five_seeds():
    scores = [schedule(replace(OWN, seed=seed, **SLOW)).score or 0 for seed in range(42, 47)]
    assert np.mean(scores) >= 0.80, scores


def test_the_papers_algorithms_on_few_jobs():
    """All of them run, with their trees and groups, in each regime."""
    for unit in Unit:
        for trees in (Trees.MIS, Trees.EXACT):
            requested = replace(MINA, count=120, unit=unit, trees=trees, **SLOW)
            result = schedule(requested)
            bound = bound_of(result)
            assert result.score is not None
            assert bound is not None
            assert (result.simulated_groups > 0) == (trees is Trees.MIS and unit is Unit.SWITCH)
            assert 0.4 < result.score <= bound + 1e-9
            assert not result.unsolved


def test_what_no_job_gains_by_is_undefined():
    """A score of 0 / 0 is none, and so is its bound."""
    result = schedule(replace(OWN, count=50, bandwidth=25e9))
    assert result.score is None
    assert bound_of(result) is None
    assert np.isfinite(result.utilisation)
    ratio = schedule(replace(OWN, count=50, ratio=1.0))
    assert ratio.score is None


@pytest.mark.parametrize("lock", list(Lock))
@pytest.mark.parametrize("sharing", list(Sharing))
def test_no_two_use_a_switch(lock, sharing):
    """Operations with INA of jobs whose last trees meet never overlap."""
    requested = replace(OWN, count=60, trace=9, lock=lock, sharing=sharing, **SLOW)
    result = schedule(requested, logged=400_000)
    with_ina = result.log[result.log["ina"] == 1]
    used = np.zeros(requested.cluster.switches)
    hosts = [set((each // 8).tolist()) for each in result.placed]
    for tor in {tor for each in hosts for tor in each}:
        jobs = [job for job, each in enumerate(hosts) if tor in each and result.hosts[job] > 1]
        ops = np.sort(with_ina[np.isin(with_ina["job"], jobs)], order="start")
        assert (ops["start"][1:] >= ops["end"][:-1] - 1e-12).all()
        used[tor] = (ops["end"] - ops["start"]).sum()
    assert result.busy[:128] == pytest.approx(used[:128])
    assert (sharing is Sharing.NEVER) == (not with_ina.size)


def test_capacity_is_that_of_a_switch():
    """With room for two, two of three jobs below one switch add up at a time."""
    jobs = [TrainingJob(model="ViT-large", hosts=2, steps=3) for _ in range(3)]
    provided = JobList(models=list(known_models().values()), jobs=jobs)
    scores = []
    for capacity in (1, 2, 3):
        requested = replace(
            OWN, topology="6,1:1,1", capacity=capacity, sharing=Sharing.GREEDY, **SLOW
        )
        scores.append(schedule(requested, provided).score or 0)
    assert scores[0] < scores[1] < scores[2] == pytest.approx(1)


def test_solver_says_that_its_time_was_up(monkeypatch):
    monkeypatch.setattr("sim.mina.solver.SECONDS", 0)
    result = schedule(replace(MINA, count=60, trees=Trees.EXACT, **SLOW))
    assert result.unsolved > 0


def test_an_error_of_the_solver_is_not_lost(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no solver")

    monkeypatch.setattr("sim.mina.solver.milp", fail)
    with pytest.raises(RuntimeError, match="no solver"):
        schedule(replace(MINA, count=60, trees=Trees.EXACT, **SLOW))
