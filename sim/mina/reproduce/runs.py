"""Runs the schedules that figures need, each once, as many at a time as there are processors."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter

from sim.mina.schedule import Schedule, schedule
from sim.mina.workload import Lock, Placement, ScheduleWorkload, Sharing, Trees
from sim.reproduce import outcomes
from sim.reproduce.report import Progress

Findings = dict[ScheduleWorkload, Schedule]

#: Asks for the paper's baseline: first hosts, first tree that is free, INA when it is free.
BASELINE = ScheduleWorkload(
    placement=Placement.FIRST, trees=Trees.FIRST, sharing=Sharing.GREEDY, lock=Lock.GROUP
)
MINA = replace(BASELINE, placement=Placement.DP, trees=Trees.MIS, sharing=Sharing.R)
OWN = ScheduleWorkload()  #: run with the defaults of the command


def rows_of(name: str, sharing: Sharing = Sharing.R) -> ScheduleWorkload:
    """Return a row of table I: P, T and S say what is MINA's, - what is the baseline's."""
    placement, trees, shares = (letter != "-" for letter in name)
    return replace(
        BASELINE,
        placement=Placement.DP if placement else Placement.FIRST,
        trees=Trees.MIS if trees else Trees.FIRST,
        sharing=sharing if shares else Sharing.GREEDY,
    )


def run_all(required: Sequence[ScheduleWorkload], progress: Progress) -> Findings:
    """Run each schedule, in threads: the compiled code lets go of Python's lock."""
    threads = ThreadPoolExecutor(os.cpu_count() or 1)

    def report(_: ScheduleWorkload | None, done: int) -> None:
        progress("scheduling", done, len(required))

    return outcomes.run_all(schedule, required, report, threads)


#: Return the score of a run in which some job can gain: by the authors' program, by the paper.
score, mean_score = attrgetter("score"), attrgetter("mean_score")
