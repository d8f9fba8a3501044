"""Converts a workload and its jobs for the golden models."""

from sim.mina.golden.simulation import Cluster, GoldenJob
from sim.mina.golden.training import Step
from sim.mina.jobs import JobList
from sim.mina.models import TrainedModel
from sim.mina.workload import ScheduleWorkload


def golden_step(model: TrainedModel, requested: ScheduleWorkload, hosts: int) -> Step:
    """Return a step: durations by the formula of the paper's model."""

    def seconds(size: int, ratio: float) -> float:
        return requested.latency + (size / (requested.bandwidth * ratio) if hosts > 1 else 0)

    return Step(
        period=model.period / requested.gpu_speed,
        start=[start / requested.gpu_speed for start in model.starts],
        plain=[seconds(size, 1) for size in model.sizes],
        ina=[seconds(size, requested.ratio) for size in model.sizes],
    )


def golden_jobs(provided: JobList, requested: ScheduleWorkload) -> list[GoldenJob]:
    """Return the jobs, in the order of arrival."""
    models = {model.name: model for model in provided.models}
    return [
        GoldenJob(
            step=golden_step(models[job.model], requested, job.hosts),
            hosts=job.hosts,
            steps=job.steps,
            arrival=job.arrival,
        )
        for job in provided.jobs
    ]


def golden_cluster(requested: ScheduleWorkload) -> Cluster:
    """Return the cluster, and the algorithms that share it."""
    return Cluster(
        down=requested.cluster.down,
        up=requested.cluster.up,
        ratio=requested.ratio,
        ports=requested.unit.value == "port",
        placement=requested.placement.value,
        trees=requested.trees.value,
        sharing=requested.sharing.value,
        lock=requested.lock.value,
        alpha=requested.alpha,
    )
