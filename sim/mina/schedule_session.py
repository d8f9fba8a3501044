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
    def files(cls, asked: ScheduleWorkload) -> Sequence[Path]:
        """Return the file of the jobs, if they are not drawn."""
        return [Path(asked.jobs)] if asked.jobs else []

    @classmethod
    def calculate(cls, params: Any, asked: ScheduleWorkload) -> dict[str, float]:
        """Return the figures of all jobs together; ValueError for jobs that cannot run."""
        found = schedule(asked)
        figures = {
            "score": found.score,
            "mean_score": found.mean_score,
            "bound": bound_of(found),
            "utilisation": found.utilisation,
            "mean_utilisation": found.mean_utilisation,
            "migrations": float(found.migrations.mean()),
            "seconds": sum(found.seconds.values()),
        }
        return {name: value for name, value in figures.items() if value is not None}
