"""Writes what a schedule leaves as files: jobs, a summary, and a timeline for Perfetto."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim.mina.schedule import Schedule

JOBS, SUMMARY, TIMELINE = "jobs.csv", "summary.json", "timeline.json"
UNDEFINED = "undefined"  #: stands for a score where INA is of no use to anybody
LOGGED = 20_000  #: number of operations that a timeline shows one by one


def shown(score: float | None) -> float | str:
    """Return a score, or a word that says that there is none."""
    return UNDEFINED if score is None else score


def write_files(folder: Path, schedule: Schedule, bound: float | None, bound_s: float) -> list[str]:
    """Write all files into ``folder``; return their names."""
    with (folder / JOBS).open("w", newline="") as file:
        rows = list(job_rows(schedule))
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    summary = json.dumps(summary_of(schedule, bound, bound_s), indent=1, allow_nan=False)
    (folder / SUMMARY).write_text(summary + "\n")
    events = json.dumps({"traceEvents": list(trace_events(schedule))}, allow_nan=False)
    (folder / TIMELINE).write_text(events + "\n")
    return [JOBS, SUMMARY, TIMELINE]


def job_rows(schedule: Schedule) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each job."""
    saved = schedule.hosts * (schedule.without_ina - schedule.time)
    most = schedule.hosts * (schedule.without_ina - schedule.all)
    for number, job in enumerate(schedule.provided.jobs):
        yield {
            "job": number + 1,
            "model": job.model,
            "hosts": job.hosts,
            "steps": job.steps,
            "arrival": job.arrival,
            "begun": schedule.begun[number],
            "finished": schedule.finished[number],
            "seconds": schedule.time[number],
            "seconds_without_ina": schedule.without_ina[number],
            "seconds_with_ina_alone": schedule.all[number],
            "score": shown(saved[number] / most[number] if most[number] > 0 else None),
            "seconds_of_ina": schedule.in_ina[number],
            "root": schedule.root[number] if schedule.root[number] >= 0 else "none",
            "migrations": schedule.migrations[number],
            "first_host": schedule.placed[number].min(),
            "last_host": schedule.placed[number].max(),
        }


def summary_of(schedule: Schedule, bound: float | None, bound_s: float) -> dict[str, Any]:
    """Return the figures of all jobs together."""
    parts = parts_of(schedule)
    hosts_time = schedule.requested.cluster.hosts * schedule.finished.max()
    return {
        "workload": schedule.requested.as_json(),
        "jobs": len(schedule.provided.jobs),
        "jobs_that_can_gain": int((schedule.without_ina > schedule.all).sum()),
        "score": shown(schedule.score),
        "mean_score": shown(schedule.mean_score),
        "bound": shown(bound),
        "utilisation": schedule.utilisation,
        "mean_utilisation": schedule.mean_utilisation,
        "end": float(schedule.finished.max()),
        "hosts_in_use": float(schedule.hosts @ schedule.time / hosts_time),
        "migrations_per_job": float(schedule.migrations.mean()),
        "jobs_without_tree_at_start": int(schedule.conflicts.sum()),
        "events": schedule.events,
        "simulated_groups": schedule.simulated_groups,
        "programs_at_time_limit": schedule.unsolved,
        "score_by_model": {
            str(model): shown(score) for (model, size), score in parts.items() if model and not size
        },
        "score_by_hosts": {
            str(size): shown(score) for (model, size), score in parts.items() if size and not model
        },
        "seconds_by_phase": {**schedule.seconds, "bound": bound_s},
    }


def parts_of(schedule: Schedule) -> dict[tuple[str | None, int | None], float | None]:
    """Return scores by model and number of hosts; None stands for all of them."""
    names = np.array([job.model for job in schedule.provided.jobs])
    models: list[str | None] = [*dict.fromkeys(names.tolist()), None]
    sizes: list[int | None] = [*np.unique(schedule.hosts).tolist(), None]
    return {
        (model, size): schedule.score_of(
            schedule.hosts
            * (names == model if model is not None else np.ones(names.size, bool))
            * (schedule.hosts == size if size is not None else True)
        )
        for model in models
        for size in sizes
    }


def trace_events(schedule: Schedule) -> Iterator[dict[str, Any]]:
    """Yield jobs and their first operations, as Chrome's and Perfetto's events; times in us.

    A process is a group of hosts below one switch of the second layer, a thread is the first host
    of a job.
    """
    cluster = schedule.requested.cluster
    width = int(np.prod(cluster.down[:2]))
    where = [
        {"pid": int(hosts.min()) // width, "tid": int(hosts.min())} for hosts in schedule.placed
    ]
    for pod in sorted({each["pid"] for each in where}):
        first = pod * width
        name = {"name": f"hosts {first} to {first + width - 1}"}
        yield {"ph": "M", "name": "process_name", "pid": pod, "args": name}
    for number, job in enumerate(schedule.provided.jobs):
        yield {
            "ph": "X",
            "name": f"{job.model}, {job.hosts} hosts",
            "cat": "job",
            **where[number],
            "ts": schedule.begun[number] * 1e6,
            "dur": schedule.time[number] * 1e6,
            "args": {"job": number + 1, "steps": job.steps},
        }
    for op in schedule.log:
        yield {
            "ph": "X",
            "name": "all-reduce, INA" if op["ina"] else "all-reduce",
            "cat": "ina" if op["ina"] else "plain",
            **where[op["job"]],
            "ts": op["start"] * 1e6,
            "dur": (op["end"] - op["start"]) * 1e6,
            "args": {"op": int(op["op"])},
        }
    times, used = in_use(schedule)
    for time, count in zip(times, used, strict=True):
        yield {
            "ph": "C",
            "name": "hosts in use",
            "pid": 0,
            "ts": time * 1e6,
            "args": {"hosts": int(count)},
        }


def in_use(schedule: Schedule) -> tuple[Any, Any]:
    """Return the times at which jobs begin or end, and how many hosts are used from then on."""
    times = np.concatenate([schedule.begun, schedule.finished])
    change = np.concatenate([schedule.hosts, -schedule.hosts])
    order = np.argsort(times, kind="stable")
    at, last = np.unique(times[order][::-1], return_index=True)
    return at, np.cumsum(change[order])[::-1][last]
