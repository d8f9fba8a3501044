"""Simulates steps of a model alone, and jobs that share one switch, in the compiled code."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sim.mina.engine.library import load
from sim.mina.engine.setup import Run
from sim.mina.jobs import JobList, TrainingJob
from sim.mina.models import known_models
from sim.mina.workload import ScheduleWorkload


def group_score(
    requested: ScheduleWorkload, members: Sequence[tuple[str, int]], steps: int
) -> float | None:
    """Return the score of models with these numbers of hosts over ``steps`` longest steps, or None.

    None stands for undefined. The order of the members is that of events at one time.
    """
    names = list(known_models())
    provided = JobList(
        models=list(known_models().values()),
        jobs=[TrainingJob(model=name, hosts=hosts, steps=1) for name, hosts in members],
    )
    run = Run(replace(requested, count=1), provided)
    run.setup.shared_steps = steps
    model = np.array([names.index(name) for name, _ in members])
    hosts = np.array([count for _, count in members])
    totals = np.zeros(3)
    load().mina_group(
        run.pointer, len(members), model.ctypes.data, hosts.ctypes.data, totals.ctypes.data
    )
    time, without_ina, all_ina = totals.tolist()
    return (without_ina - time) / (without_ina - all_ina) if without_ina > all_ina else None


Reals = NDArray[np.float64]


def step_seconds(requested: ScheduleWorkload, provided: JobList) -> tuple[Reals, Reals]:
    """Return seconds of a model's step, with one host and with more: without INA, with it alone."""
    shape = len(provided.models), 2
    without_ina, all_ina = np.zeros(shape), np.zeros(shape)
    run = Run(requested, provided)
    load().mina_steps(run.pointer, without_ina.ctypes.data, all_ina.ctypes.data)
    return without_ina, all_ina
