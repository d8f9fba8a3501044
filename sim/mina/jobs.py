"""Draws jobs as the authors' program draws them, or reads them from a file."""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from gen.base.errors import UserError, unknown
from sim.mina.lehmer import Lehmer
from sim.mina.models import DATA, FILES, MOST, TrainedModel, known_models, model_of, whole
from sim.workloads.files import InputError, read_unpacked, reason

TRACES = 10
STEPS = range(10, 101, 10)


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """Describes a job as it is asked for."""

    model: str
    hosts: int
    steps: int
    arrival: float = 0.0  #: time of arrival in seconds

    def __post_init__(self) -> None:
        if self.hosts < 1:
            raise ValueError(f"hosts must be at least 1: {self.hosts}")
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1: {self.steps}")
        if not 0 <= self.arrival <= MOST:
            raise ValueError(f"arrival must be from 0 to 2^40 seconds: {self.arrival}")


@dataclass(frozen=True, kw_only=True)
class JobList:
    """Holds jobs in the order of arrival, and the models that they train."""

    models: Sequence[TrainedModel]
    jobs: Sequence[TrainingJob]


@cache
def histogram(trace: int) -> tuple[tuple[int, int], ...]:
    """Return numbers of hosts, each with the number of the trace's jobs that have that many."""
    traces = json.loads((DATA / "hosts_per_job.json").read_text())
    return tuple((hosts, weight) for hosts, weight in traces[trace - 1])


def drawn_jobs(trace: int, count: int, seed: int) -> JobList:
    """Draw ``count`` jobs: model and steps uniform, hosts by the histogram of ``trace``."""
    random, names = Lehmer(seed), list(FILES)
    sizes, weights = zip(*histogram(trace), strict=True)
    until = list(accumulate(weights))

    def item() -> TrainingJob:
        model = names[random.below(len(names))]
        hosts = sizes[bisect_right(until, random.real() * until[-1], hi=len(sizes) - 1)]
        return TrainingJob(model=model, hosts=hosts, steps=STEPS[random.below(len(STEPS))])

    return JobList(models=list(known_models().values()), jobs=[item() for _ in range(count)])


def read_jobs(path: Path) -> JobList:
    """Read jobs from JSON: a list, or an object with ``jobs`` and with ``models`` of its own."""
    text = read_unpacked(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({reason(error)})") from None
    about_all: Any = {"jobs": content} if isinstance(content, list) else content
    try:
        own = {name: model_of(name, about) for name, about in about_all.get("models", {}).items()}
        models = dict(known_models()) | own
        jobs = [job_of(number, about, models) for number, about in enumerate(about_all["jobs"], 1)]
    except (AttributeError, KeyError, TypeError):
        raise InputError(f"{path}: must have a list of jobs, or jobs and models") from None
    except (ValueError, UserError) as error:
        raise InputError(f"{path}: {error}") from None
    if not jobs:
        raise InputError(f"{path}: has no job; there must be at least one")
    return JobList(models=list(models.values()), jobs=sorted(jobs, key=lambda job: job.arrival))


def job_of(
    number: int, about: Mapping[str, Any], models: Mapping[str, TrainedModel]
) -> TrainingJob:
    """Return job ``number`` of a file; raise ValueError, or UserError for an unknown model."""
    try:
        name = about["model"]
        if others := sorted({*about} - {each.name for each in fields(TrainingJob)}):
            raise ValueError(f"{others[0]!r} is none of model, hosts, steps, arrival")
        if name not in models:
            raise unknown("model", str(name), models)
        return TrainingJob(
            model=name,
            hosts=whole(about["hosts"]),
            steps=whole(about["steps"]),
            arrival=float(about.get("arrival", 0)),
        )
    except (AttributeError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"job {number} must have model, hosts and steps") from error
    except ValueError as error:
        raise ValueError(f"job {number}: {error}") from error
