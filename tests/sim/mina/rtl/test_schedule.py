"""Runs four jobs on a tree of switches in hardware, beside the same jobs in the simulator."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sim.harness.cache import CHECKOUT
from sim.harness.measuring import FILE
from sim.mina.jobs import JobList, TrainingJob, read_jobs
from sim.mina.models import TrainedModel
from sim.mina.rtl.comparison import (
    FRAME_BYTES,
    LARGEST,
    RECORDING,
    SECONDS,
    STEPS_WITHIN,
    compare,
    first_difference,
    in_order,
    scaled,
)
from sim.mina.workload import Lock, Placement, ScheduleWorkload, Sharing, Unit
from tests.long import short_and_long

#: The first job ends soon, and its host and the last one are left for the last job: its tree meets
#: those of all others, as that of the third job does; the second one and the fourth are apart.
JOBS = read_jobs(CHECKOUT / "sim/mina/rtl/four_jobs.json")
#: two pods of two ToRs of two hosts, two roots: eight switches
REQUESTED = ScheduleWorkload(
    topology="2,2,2:1,1,2", placement=Placement.FIRST, ratio=1.5, bandwidth=8e9
)
VARIANTS = {
    "best": {},
    "greedy, locks of a group": {"sharing": Sharing.GREEDY, "lock": Lock.GROUP},
    "r": {"sharing": Sharing.R},
    "by port": {"unit": Unit.PORT},
}
#: All hosts of ToRs with four hosts each: as many frames as a switch takes.
WIDE = JobList(
    models=[TrainedModel(name="wide", period=9e-3, starts=[2e-3, 8e-3], sizes=[20_000_000] * 2)],
    jobs=[TrainingJob(model="wide", hosts=8, steps=2, arrival=0.0)],
)


@pytest.mark.parametrize("name", short_and_long(VARIANTS, ["best"]))
def test_grants_and_steps_are_the_simulators(name, tmp_path):
    """Figures are printed: pytest -s."""
    run = scaled(replace(REQUESTED, **VARIANTS[name]), JOBS)
    result = compare(run, tmp_path)
    print(name, result)
    assert result.differs_at is None
    assert result.worst_step <= STEPS_WITHIN
    assert result.steps == sum(job.steps for job in JOBS.jobs)
    assert result.grants > 15
    check_recording(run, tmp_path)


def check_recording(run, folder):
    """Check that what was recorded is what the jobs did, and that its schedule is theirs."""
    measured = json.loads((folder / FILE).read_text())
    recorded = read_jobs(folder / RECORDING)
    models = {model.name: model for model in recorded.models}
    assert [(job.hosts, job.steps) for job in recorded.jobs] == [
        (job.hosts, job.steps) for job in run.provided.jobs
    ]
    delayed = 0
    for number, job in enumerate(recorded.jobs):
        model, began = models[job.model], measured["begins"][number]
        assert [size // FRAME_BYTES for size in model.sizes] == run.frames[number]
        assert np.abs(np.subtract(measured["resumed"][number], began[:-1])).max() < 1.5 * SECONDS
        starts = np.reshape(measured["starts"][number], (job.steps, -1))
        called = np.array(began[:-1])[:, None] + model.starts
        behind = np.round((starts - called) / SECONDS)
        assert (behind >= -1).all()  # no all-reduce begins before the job calls for it
        assert (abs(behind[:, 0]) <= 1).all()  # the first of a step waits for no other
        delayed += (behind > 1).sum()
        assert (np.diff(began) >= model.period - 1.5 * SECONDS).all()
        original = next(m for m in run.provided.models if m.name == run.provided.jobs[number].model)
        for own, requested in zip(
            (model.period, *model.starts), (original.period, *original.starts), strict=True
        ):
            assert abs(own - requested) < 1.5 * SECONDS
    assert delayed > 0  # so that calls and begins are told apart
    again = replace(run, requested=replace(run.requested, gpu_speed=1.0), provided=recorded)
    grants, begins = in_order(again, again.simulated(measured["latency"], measured["frame"]))
    assert grants == [tuple(each) for each in measured["grants"]]
    for own, reference in zip(measured["begins"], begins, strict=True):
        assert abs(np.diff(own) / np.diff(reference) - 1).max() <= STEPS_WITHIN


@pytest.mark.long
def test_switches_of_many_ports_lose_no_frame(tmp_path):
    result = compare(scaled(replace(REQUESTED, topology="4,2:1,1"), WIDE), tmp_path)
    print(result)
    assert result.holds
    assert result.grants == 2


def test_all_times_are_scaled_alike():
    """Only ratios of times count; the largest all-reduce has this many frames."""
    small = scaled(REQUESTED, JOBS)
    assert max(map(max, small.frames)) == LARGEST
    assert small.frames[1] == [240, 128, 240]
    models = {model.name: model for model in JOBS.models}
    factors = [own.period / models[own.name].period for own in small.provided.models]
    assert factors == pytest.approx([factors[0]] * len(factors))
    assert len(factors) == len({job.model for job in JOBS.jobs})


def test_the_first_difference_is_detected():
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 3, 2]) == 1
    assert first_difference([1, 2, 3], [1, 2]) == 2
