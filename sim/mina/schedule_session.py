"""Gives sweeps the figures of a schedule of many jobs, which need no hardware."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.harness.session import Session
from sim.mina.bound import bound_of
from sim.mina.schedule import schedule
from sim.mina.workload import ScheduleWorkload


class ScheduleSession(Session):
    """Schedules jobs on a cluster whose switches add up for some of them at a time.

    ``score``, ``mean_score`` and ``bound`` are missing where they are undefined: INA is of no use
    to any job.
    """

    workload = ScheduleWorkload
    calculated = {
        "score": "share of what INA could save, in hosts times seconds, that jobs save",
        "mean_score": "the same of the mean time of a job, as the paper defines it",
        "bound": "the most that the score could be with these hosts and times",
        "utilisation": "share of hosts times seconds in which jobs use INA",
        "mean_utilisation": "the mean of the jobs' shares of time in which they use INA",
        "migrations": "of a job to another tree, on average",
        "seconds": "of computing: placement, trees and events",
    }
    maximise = ("score",)

    @classmethod
    def files(cls, requested: ScheduleWorkload) -> Sequence[Path]:
        """Return the file of the jobs, if they are not drawn."""
        return [Path(requested.jobs)] if requested.jobs else []

    @classmethod
    def calculate(cls, params: Any, requested: ScheduleWorkload) -> dict[str, float]:
        """Return the figures of all jobs together; ValueError for jobs that cannot run."""
        result = schedule(requested)
        figures = {
            "score": result.score,
            "mean_score": result.mean_score,
            "bound": bound_of(result),
            "utilisation": result.utilisation,
            "mean_utilisation": result.mean_utilisation,
            "migrations": float(result.migrations.mean()),
            "seconds": sum(result.seconds.values()),
        }
        return {name: value for name, value in figures.items() if value is not None}
