"""Draws small clusters and jobs, for the golden models and for the compiled code."""

import numpy as np

from sim.mina.jobs import JobList, TrainingJob
from sim.mina.models import TrainedModel

TOPOLOGIES = ("2,2,2:1,2,2", "4,2:1,2", "2,3,2:1,1,3", "3,2,2:2,2,1", "4:1")


def drawn_models(random, count=3):
    """Draw models with few operations; times are not round, so that none are equal."""
    built = []
    for number in range(count):
        ops = int(random.integers(3, 9))
        starts = np.sort(random.uniform(0.01, 0.1, ops))
        built.append(
            TrainedModel(
                name=f"model{number}",
                period=float(starts[-1] + random.uniform(0, 0.05)),
                starts=tuple(starts.tolist()),
                sizes=tuple(random.integers(10**8, 10**9, ops).tolist()),
            )
        )
    return built


def drawn_list(random, hosts, count=20, late=False):
    """Draw jobs of at most this many hosts each; ``late`` ones do not all come at once."""
    models = drawn_models(random)
    arrivals = np.sort(random.uniform(0, 1, count)) if late else np.zeros(count)
    jobs = [
        TrainingJob(
            model=models[random.integers(len(models))].name,
            hosts=int(random.integers(1, hosts + 1)),
            steps=int(random.integers(2, 8)),
            arrival=float(arrival),
        )
        for arrival in arrivals
    ]
    return JobList(models=models, jobs=jobs)
