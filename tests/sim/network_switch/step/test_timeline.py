"""Stages work from a beat to the next near one; figures count cycles of an epoch."""

import numpy as np

from sim.network_switch.step.timeline import AGGREGATION, REDUCTION, STAGES, Mark, Timeline
from sim.network_switch.step.timeline import intervals as of_log

FIELDS = [name for names in STAGES.values() for name in names]
LOG = np.dtype([("cycle", "<u4"), *((name, "<u4") for name in FIELDS)])


def log(**moves):
    """Return a log in which each of ``moves`` has cycles."""
    cycles = sorted({cycle for each in moves.values() for cycle in each})
    rows = [(cycle, *(cycle in moves.get(name, ()) for name in FIELDS)) for cycle in cycles]
    return np.array(rows, LOG)


def test_beats_that_are_near_make_an_interval():
    moves = log(reads=[10, 15], rows=[20, 40], features=[30], nic_down=[7])
    result = of_log(moves, dict.fromkeys(STAGES, 5) | {"gather": 20})
    assert {name: spans.tolist() for name, spans in result.items()} == {
        "gather": [[10, 41]],
        "up": [[30, 31]],
        "down": [],
        "reduce": [[7, 8]],
    }
    assert of_log(moves, dict.fromkeys(STAGES, 5))["gather"].tolist() == [[10, 21], [40, 41]]


def test_figures_are_of_whole_epochs_and_a_worker_on_average():
    spans = {"gather": [[0, 30], [90, 130]], "up": [[20, 50]], "down": [[40, 60]], "reduce": []}
    stages = {name: np.array(each).reshape(-1, 2) for name, each in spans.items()}
    idle = {name: np.zeros((0, 2), np.int64) for name in spans}
    marks = [
        Mark(AGGREGATION, 10, 15, 50, 52),
        Mark(AGGREGATION, 52, 55, 80, 84),
        Mark(REDUCTION, 84, 84, 100, 100),
        Mark(AGGREGATION, 110, 115, 120, 125),
    ]
    timeline = Timeline(marks, [stages, idle], aggregations=2, compute=[7, 0, 9])
    assert timeline.epochs == [(10, 110)]
    figures = timeline.figures(10, 110)
    expected = {"gather": 20, "up": 15, "down": 10, "reduce": 0, "gather_up": 5, "up_down": 5}
    expected |= {"gather_down": 0, "host": 14, "compute": 16, "step": 100}
    assert {name: figures[f"{name}_cycles"] for name in expected} == expected
    assert timeline.shifts(10, 110) == [(10, 7), (52, 0), (84, 9)]
