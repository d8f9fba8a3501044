"""Measures how long schedules take, and how that grows; tests hold their scores."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from sim.bench.limits import CPU, Limit, Row, cpu_seconds
from sim.mina.engine.library import load
from sim.mina.reproduce.runs import BASELINE, MINA, OWN
from sim.mina.schedule import schedule
from sim.mina.workload import ScheduleWorkload, Unit

SLOW = {"gpu_speed": 1.5, "ratio": 1.5}
#: Maps a run of 1,000 jobs to its most seconds of CPU.
RUNS = {
    "baseline": (BASELINE, 3),
    "the paper's": (MINA, 60),
    "the paper's, GPU 1.5, ratio 1.5": (replace(MINA, **SLOW), 60),
    "our best, HDR": (OWN, 5),
    "our best, NDR": (replace(OWN, unit=Unit.PORT), 5),
    "our best, GPU 1.5, ratio 1.5": (replace(OWN, **SLOW), 5),
    "our best, GPU 1.5, ratio 2": (replace(OWN, gpu_speed=1.5), 5),
    "our best, NDR, GPU 1.5, ratio 1.5": (replace(OWN, unit=Unit.PORT, **SLOW), 5),
}
PODS = 40, 80, 160  #: of 64 hosts and 62.5 jobs each
GROWTH = 2.4  #: most times the CPU time, of twice the hosts and jobs


def seconds(requested: ScheduleWorkload) -> float:
    """Return the seconds of CPU that a schedule takes."""
    began = cpu_seconds()
    schedule(requested)
    return cpu_seconds() - began


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Run all schedules of one machine, one after the other; return the rows."""
    load()
    built: list[Row] = []
    for name, (requested, most) in RUNS.items():
        progress(name)
        built.append(Row(what=name, value=seconds(requested), unit=CPU, limit=Limit(most)))
    progress("doubled hosts and jobs")
    sizes = [replace(OWN, topology=f"8,8,{n}:1,8,8", count=n * 125 // 2) for n in PODS]
    took = [(requested, min(seconds(requested) for _ in range(2))) for requested in sizes]
    for (_, half), (requested, whole) in pairwise(took):
        what = (
            f"our best: twice the hosts and jobs, {requested.cluster.hosts:,} and"
            f" {requested.count:,}"
        )
        note = f"{whole:.2f} s of CPU instead of {half:.2f}, each the better of two runs"
        times = whole / half
        built.append(Row(what=what, value=times, unit="times", limit=Limit(GROWTH), note=note))
    return built
