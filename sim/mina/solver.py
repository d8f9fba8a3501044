"""Chooses trees by an integer program: the most that jobs can gain if no two share a switch."""

from typing import Any

import numpy as np
from scipy.optimize import Bounds, milp
from scipy.sparse import csr_array, vstack

from sim.mina.jobs import JobList
from sim.mina.sharing import step_seconds
from sim.mina.workload import ScheduleWorkload

SECONDS = 10  #: most seconds that one program may take


class TreeSolver:
    """Chooses among candidate trees of running jobs that could gain; compiled code calls it.

    A job's weight is its hosts times the share of its time that INA saves.
    """

    def __init__(self, provided: JobList, requested: ScheduleWorkload) -> None:
        self.provided, self.requested = provided, requested
        self.weights: Any = None
        self.unsolved = 0
        self.error: BaseException | None = None

    def __call__(self, trees: int, job: Any, begin: Any, switches: Any, chosen: Any) -> None:
        """Fill ``chosen``; an exception waits for :meth:`check`, as it cannot pass through C++."""
        if self.error is not None:
            return
        try:
            begins = np.ctypeslib.as_array(begin, (trees + 1,))
            used = np.ctypeslib.as_array(switches, (max(1, begins[-1]),))[: begins[-1]]
            result = self.solve(np.ctypeslib.as_array(job, (trees,)), begins, used)
            np.ctypeslib.as_array(chosen, (trees,))[:] = result
        except BaseException as error:
            self.error = error

    def check(self) -> None:
        """Raise what went wrong in a call."""
        if self.error is not None:
            raise self.error

    def solve(self, job: Any, begin: Any, switches: Any) -> Any:
        """Return 1 for each chosen tree: at most one a job, at most the capacity a switch."""
        ones = np.ones(switches.size)
        on_switch = csr_array((ones, switches, begin)).T
        jobs, of_tree = np.unique(job, return_inverse=True)
        of_job = csr_array((np.ones(job.size), (of_tree, np.arange(job.size))))
        limit = np.concatenate(
            [np.ones(jobs.size), np.full(on_switch.shape[0], self.requested.capacity)]
        )
        result = milp(
            -self.job_weights()[job],
            integrality=np.ones(job.size),
            bounds=Bounds(0, 1),
            constraints=(vstack([of_job, on_switch]), -np.inf, limit),
            options={"time_limit": SECONDS},
        )
        self.unsolved += result.status == 1
        return np.zeros(job.size, np.int64) if result.x is None else result.x.round()

    def job_weights(self) -> Any:
        """Return the weights by job."""
        if self.weights is None:
            without_ina, all_ina = step_seconds(self.requested, self.provided)
            share = ((without_ina - all_ina) / without_ina)[:, 1]
            place = {model.name: i for i, model in enumerate(self.provided.models)}
            self.weights = np.array(
                [job.hosts * share[place[job.model]] for job in self.provided.jobs]
            )
        return self.weights
