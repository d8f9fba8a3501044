"""Tests that a job's pattern is what it called for, however slow its network is."""

import itertools
import json
import re

import pytest

from gen.base.errors import UserError
from sim.host.switch.pattern import PatternRecorder, recording, save
from sim.mina.jobs import read_jobs
from sim.workloads.files import InputError


class Job:
    """Does steps of a pattern on a clock of its own, with results that come late."""

    def __init__(self, **options):
        self.time = 5.0
        self.recorder = PatternRecorder("mine", 4, now=lambda: self.time, **options)

    def step(self, starts=(0.25, 0.5), sizes=(1000, 32), duration=0.75, late=0.0):
        began = self.time
        for start, size in zip(starts, sizes, strict=True):
            self.time = began + start
            self.recorder.scheduled(size)
        self.time = began + duration
        self.recorder.waits()
        self.time += late
        self.recorder.waits()  # for another result, which came before
        self.recorder.resumed()


def test_a_pattern_does_not_depend_on_the_network(tmp_path):
    patterns = []
    for late in (0.0, 0.125, 7.0):
        job = Job()
        job.step(starts=(0.6, 0.7), duration=3.0)  # a warm-up
        for _ in range(3):
            job.step(late=late)
        patterns.append(recording([job.recorder]))
    assert patterns[0] == patterns[1] == patterns[2]
    save(tmp_path / "jobs.json", [job.recorder])
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.json"]
    result = read_jobs(tmp_path / "jobs.json")
    (model,) = (model for model in result.models if model.name == "mine")
    assert (model.period, model.starts, model.sizes) == (0.75, (0.25, 0.5), (1000, 32))
    (job,) = result.jobs
    assert (job.model, job.hosts, job.steps, job.arrival) == ("mine", 4, 4, 0)


def test_a_step_that_is_unlike_the_others_moves_no_median():
    job = Job(warm_up=0, arrival=2.5)
    for starts, duration in (((0.25, 0.5), 0.75), ((0.4, 9.0), 9.5), ((0.2, 0.5), 0.75)):
        job.step(starts=starts, duration=duration)
    pattern = job.recorder.pattern()
    assert pattern["duration"] == 0.75
    assert [each["start"] for each in pattern["allreduces"]] == [0.25, 0.5]
    assert recording([job.recorder])["jobs"][0]["arrival"] == 2.5


def test_an_existing_file_stays_if_nothing_is_recorded(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text("before")
    job = Job()
    job.step()
    with pytest.raises(ValueError, match="no step is recorded: 1 ended, and the first 1 are left"):
        save(path, [job.recorder])
    assert path.read_text() == "before"


def test_calls_out_of_order_are_refused():
    job = Job(warm_up=0)
    with pytest.raises(ValueError, match="over before the job waited"):
        job.recorder.resumed()
    job.recorder.waits()
    with pytest.raises(ValueError, match="scheduled while the job waits"):
        job.recorder.scheduled(4)
    other = Job(warm_up=1)
    for sizes in ((8, 8), (1000, 32), (1000, 32), (1000, 36)):
        other.step(sizes=sizes)
    text = re.escape("step 4 has other all-reduces than the first one that is recorded: [1000, 36]")
    with pytest.raises(ValueError, match=text):
        other.recorder.pattern()


def test_a_damaged_recording_is_one_line(tmp_path):
    job = Job(warm_up=0)
    job.step()
    path = tmp_path / "jobs.json"
    save(path, [job.recorder])
    whole = path.read_bytes()
    kept = json.loads(whole)
    empty = {"models": {"mine": kept["models"]["mine"] | {"allreduces": []}}, "jobs": kept["jobs"]}
    broken = [whole[:end] for end in range(0, len(whole.rstrip()), 7)]
    broken += [b"\x00\xff" + whole, b"\n", json.dumps(kept | {"jobs": []}).encode()]
    broken += [json.dumps(empty).encode(), whole.replace(b"0.75", b"NaN")]
    for content in broken:
        path.write_bytes(content)
        with pytest.raises((InputError, UserError)) as raised:
            read_jobs(path)
        assert "\n" not in str(raised.value)
        assert str(path) in str(raised.value)


def test_jobs_of_one_name_share_a_pattern():
    jobs = [Job(warm_up=0), Job(warm_up=0)]
    for job, count in itertools.product(jobs, range(2)):
        job.step(duration=1.0 + count)
    result = recording([job.recorder for job in jobs])
    assert list(result["models"]) == ["mine"]
    assert [job["steps"] for job in result["jobs"]] == [2, 2]
