"""Measures schedules of 1,000 jobs: their scores, and how long they take."""

import time
from collections.abc import Callable
from dataclasses import replace

from sim.bench.limits import Limit, Row
from sim.mina.bound import bound_of
from sim.mina.engine.library import load
from sim.mina.reproduce.runs import BASELINE, MINA, OURS
from sim.mina.schedule import schedule
from sim.mina.workload import Unit

SLOW = {"gpu_speed": 1.5, "ratio": 1.5}
SEEDS = range(42, 47)
#: Maps what is run to its most seconds of CPU, and its least score.
RUNS = {
    "baseline": (BASELINE, 3, None),
    "the paper's": (MINA, 60, None),
    "the paper's, GPU 1.5, ratio 1.5": (replace(MINA, **SLOW), 60, None),
    "our best, HDR": (OURS, 5, 0.99),
    "our best, NDR": (replace(OURS, unit=Unit.PORT), 5, 0.99),
    "our best, GPU 1.5, ratio 1.5": (replace(OURS, **SLOW), 5, 0.82),
    "our best, GPU 1.5, ratio 2": (replace(OURS, gpu_speed=1.5), 5, 0.90),
    "our best, NDR, GPU 1.5, ratio 1.5": (replace(OURS, unit=Unit.PORT, **SLOW), 5, 0.99),
}


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Run all schedules of one machine, one after the other; return the rows."""
    load()
    made: list[Row] = []
    for name, (asked, seconds, least) in RUNS.items():
        progress(name)
        began = time.process_time()
        found = schedule(asked)
        took = time.process_time() - began
        assert found.score is not None
        made += [
            Row(what=name, value=took, unit="s of CPU", limit=Limit(seconds)),
            Row(
                what=f"{name}: score",
                value=found.score,
                limit=None if least is None else Limit(least, at_least=True),
                note=f"bound on its placement {bound_of(found):.4f}",
            ),
        ]
    progress("five seeds")
    scores = [schedule(replace(OURS, seed=seed, **SLOW)).score or 0 for seed in SEEDS]
    mean = sum(scores) / len(scores)
    text = "our best, GPU 1.5, ratio 1.5: mean score of five seeds"
    return [*made, Row(what=text, value=mean, limit=Limit(0.80, at_least=True))]
