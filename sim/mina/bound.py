"""Computes by a linear program what a schedule could gain at most with its placement."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from sim.mina.schedule import Schedule
from sim.mina.workload import Unit

Reals = NDArray[np.float64]


def bound_of(schedule: Schedule) -> float | None:
    """Return the most that the score could be, with the hosts and times of ``schedule``.

    Between two starts or ends of jobs, job j uses INA for a share u_j y_j of its time and saves y_j
    of what it can. A switch (or port) adds up for one job at a time: the sum of u y of its jobs is
    at most 1. Roots above the same hosts are alike, so that the best shares use all of them alike,
    and only their number counts. None, which is undefined, if no job can gain.
    """
    requested = schedule.requested
    saved = (schedule.without_ina - schedule.all) / schedule.without_ina
    useful = np.flatnonzero(saved > 0)
    if not useful.size:
        return None
    need = (schedule.without_ina - schedule.all)[useful] / (
        (requested.ratio - 1) * schedule.all[useful]
    )
    loads = usage_of(schedule, useful) * need[:, np.newaxis]
    begun, finished = schedule.begun[useful], schedule.finished[useful]
    times = np.unique([begun, finished])
    gains: list[Reals] = []
    limits: list[Any] = []  # sparse
    before = 0
    for since, until in pairwise(times):
        runs = np.flatnonzero((begun <= since) & (finished >= until))
        gains.append((until - since) * (schedule.hosts * saved)[useful[runs]])
        load = loads[runs]
        full = load.sum(axis=0) > requested.capacity
        row, job = load[:, full].T.nonzero()
        values = load[:, full].T[row, job], (row, job + before)
        before += runs.size
        limits.append(csr_array(values, shape=(int(full.sum()), before)))
    return max_gain(np.concatenate(gains), limits, requested.capacity)


def max_gain(gains: Reals, limits: Sequence[Any], capacity: int) -> float:
    """Return the most of ``gains``, as a share of all; early limits lack the later columns."""
    for each in limits:
        each.resize(each.shape[0], gains.size)
    rows: Any = csr_array(vstack(limits))
    result = linprog(-gains, A_ub=rows, b_ub=np.full(rows.shape[0], float(capacity)), bounds=(0, 1))
    if result.status:
        raise RuntimeError(f"the linear program has no solution: {result.message}")
    return float(-result.fun / gains.sum())


def usage_of(schedule: Schedule, jobs: NDArray[np.int64]) -> Reals:
    """Return, by job and group of equal switches (or ports), the share that a tree takes of it."""
    cluster = schedule.requested.cluster
    ports = schedule.requested.unit is Unit.PORT
    groups = [np.zeros((jobs.size, 0))]
    width = alike = 1
    for layer in range(1, cluster.layers + 1 - ports):
        width *= cluster.down[layer - 1]
        alike *= cluster.up[layer - 1]
        result = np.zeros((jobs.size, cluster.hosts // width))
        for row, hosts in enumerate(schedule.placed[job] for job in jobs):
            below = width if ports else width // cluster.down[layer - 1]
            if np.unique(hosts // below).size > 1:  # the tree has switches of this layer
                share = 1 / (alike * cluster.up[layer]) if ports else 1 / alike
                result[row, np.unique(hosts // width)] = share
        groups.append(result)
    return np.hstack(groups)
