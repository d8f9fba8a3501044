"""Converts a workload and its jobs for the golden models."""

from sim.mina.golden.simulation import Cluster, GoldenJob
from sim.mina.golden.training import Step
from sim.mina.jobs import JobList
from sim.mina.models import TrainedModel
from sim.mina.workload import ScheduleWorkload


def golden_step(model: TrainedModel, asked: ScheduleWorkload, hosts: int) -> Step:
    """Return a step: durations by the formula of the paper's model."""

    def seconds(size: int, ratio: float) -> float:
        return asked.latency + (size / (asked.bandwidth * ratio) if hosts > 1 else 0)

    return Step(
        period=model.period / asked.gpu_speed,
        start=[start / asked.gpu_speed for start in model.starts],
        plain=[seconds(size, 1) for size in model.sizes],
        ina=[seconds(size, asked.ratio) for size in model.sizes],
    )


def golden_jobs(given: JobList, asked: ScheduleWorkload) -> list[GoldenJob]:
    """Return the jobs, in the order of arrival."""
    models = {model.name: model for model in given.models}
    return [
        GoldenJob(
            step=golden_step(models[job.model], asked, job.hosts),
            hosts=job.hosts,
            steps=job.steps,
            arrival=job.arrival,
        )
        for job in given.jobs
    ]


def golden_cluster(asked: ScheduleWorkload) -> Cluster:
    """Return the cluster, and the algorithms that share it."""
    return Cluster(
        down=asked.cluster.down,
        up=asked.cluster.up,
        ratio=asked.ratio,
        ports=asked.unit.value == "port",
        placement=asked.placement.value,
        trees=asked.trees.value,
        sharing=asked.sharing.value,
        lock=asked.lock.value,
        alpha=asked.alpha,
    )
