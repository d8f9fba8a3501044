"""Tells how long a step of each model takes, alone in the cluster."""

import numpy as np
from numpy.typing import NDArray

from sim.mina.engine.library import load
from sim.mina.engine.setup import Run
from sim.mina.jobs import JobList
from sim.mina.workload import ScheduleWorkload

Reals = NDArray[np.float64]


def step_seconds(asked: ScheduleWorkload, given: JobList) -> tuple[Reals, Reals]:
    """Return seconds of a model's step, with one host and with more: without INA, with it alone."""
    shape = len(given.models), 2
    none, all_ina = np.zeros(shape), np.zeros(shape)
    run = Run(asked, given)
    load().mina_steps(run.pointer, none.ctypes.data, all_ina.ctypes.data)
    return none, all_ina
