"""Runs jobs on a cluster in the compiled simulator, and holds what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.mina.engine.library import load
from sim.mina.engine.setup import Run
from sim.mina.jobs import JobList
from sim.mina.sharing import Reals, step_seconds
from sim.mina.solver import TreeSolver
from sim.mina.workload import ScheduleWorkload

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Holds what came of a run; arrays are by job, in the order of arrival."""

    requested: ScheduleWorkload
    provided: JobList
    hosts: Ints  #: number of the job's hosts
    begun: Reals  #: start in seconds, from the time from which on jobs can arrive
    finished: Reals
    in_ina: Reals  #: seconds of operations with INA
    without_ina: Reals  #: seconds that the job would run without INA
    all: Reals  #: seconds that the job would run with INA for all operations
    root: Ints  #: root of its last tree, or -1
    migrations: Ints
    conflicts: Ints  #: whether it began without a tree
    placed: Sequence[Ints]  #: numbers of its hosts
    busy: Reals  #: seconds of INA by switch, layer by layer
    log: NDArray[np.void]  #: the first operations that ended
    events: int
    simulated_groups: int
    simulated_events: int
    unsolved: int  #: integer programs that ended at their time limit
    seconds: dict[str, float]  #: seconds that the computer took, by phase

    @property
    def time(self) -> Reals:
        """Return the seconds that each job ran."""
        return self.finished - self.begun

    @property
    def score(self) -> float | None:
        """Return the authors' program's score, which weighs hosts; None if no job can gain."""
        return self.score_of(self.hosts)

    @property
    def mean_score(self) -> float | None:
        """Return the score as the paper defines it, by the plain mean of the jobs' times."""
        return self.score_of(np.ones_like(self.hosts))

    def score_of(self, weights: Ints) -> float | None:
        """Return the share of the most that INA can save that jobs save, weighted."""
        most = float(weights @ (self.without_ina - self.all))
        return float(weights @ (self.without_ina - self.time)) / most if most > 0 else None

    @property
    def utilisation(self) -> float:
        """Return the share of all jobs' time, weighted by their hosts, that they use INA for."""
        return float(self.hosts @ self.in_ina / (self.hosts @ self.time))

    @property
    def mean_utilisation(self) -> float:
        """Return the mean of the jobs' shares of time that they use INA for, as the paper does."""
        return float((self.in_ina / self.time).mean())


def schedule(
    requested: ScheduleWorkload, provided: JobList | None = None, logged: int = 0
) -> Schedule:
    """Run the jobs; ``logged`` is how many operations are kept one by one."""
    provided = provided or requested.job_list()
    solver = TreeSolver(provided, requested)
    run = Run(requested, provided, solver, logged)
    load().mina_run(run.pointer)
    solver.check()
    arrays, setup = run.arrays, run.setup
    hosts, steps = arrays["hosts"], arrays["steps"]
    names = "begun finished in_ina root migrations conflicts busy"
    without_ina, all_ina = step_seconds(requested, provided)
    of_job = arrays["model"], (hosts > 1).astype(int)
    return Schedule(
        requested=requested,
        provided=provided,
        hosts=hosts,
        without_ina=without_ina[of_job] * steps,
        all=all_ina[of_job] * steps,
        placed=np.split(arrays["taken"], np.cumsum(hosts)[:-1]),
        log=arrays["log"][: setup.logged],
        events=setup.events,
        simulated_groups=setup.simulated_groups,
        simulated_events=setup.simulated_events,
        unsolved=solver.unsolved,
        seconds={
            "placement": setup.placement_seconds,
            "trees": setup.trees_seconds,
            "events": setup.seconds - setup.placement_seconds - setup.trees_seconds,
        },
        **{name: arrays[name] for name in names.split()},
    )
