import pytest

from gen.base.errors import UserError
from gen.sweep.front import Constraint, Objective, front, objectives, usual
from gen.sweep.store import PointRow
from tests.gen.sweep.fake import SUBJECT


def row(key, status="done", **metrics):
    empty = {"design": "", "parameters": {}, "workload": {}, "error": "", "log": ""}
    return PointRow(key=key, status=status, metrics=metrics, seconds=0, attempts=0, **empty)


POINTS = [
    row("slow", speed=1, cost=1),
    row("worse", speed=1, cost=2),
    row("fast", speed=3, cost=9),
    row("middle", speed=2, cost=4),
    row("twin", speed=2, cost=4),
    row("lacking", speed=9),
    row("failed", "failed", speed=9, cost=0),
]
AIMS = objectives(["speed"], ["cost"])


def test_the_front_is_what_nothing_beats():
    assert [p.key for p in front(POINTS, AIMS)] == ["fast", "middle", "twin", "slow"]
    assert [p.key for p in front(POINTS, objectives([], ["cost"]))] == ["slow"]


def test_bounds_leave_points_out():
    assert [p.key for p in front(POINTS, AIMS, [Constraint.parse("cost <= 4")])] == [
        "middle",
        "twin",
        "slow",
    ]
    assert [p.key for p in front(POINTS, AIMS, [Constraint.parse("speed>=2.5")])] == ["fast"]


def test_excess_grows_with_the_violation():
    assert Constraint.parse("a <= 2").excess({"a": 5}) == 3
    assert Constraint.parse("a >= 2").excess({"a": 5}) == -3


@pytest.mark.parametrize("text", ["cost", "cost < 3", "cost <= much", "<= 3"])
def test_constraints_are_judged(text):
    with pytest.raises(UserError, match="METRIC <= NUMBER"):
        Constraint.parse(text)


def test_usual_objectives_are_those_that_are_known():
    assert usual(SUBJECT, ["speed", "luts"]) == [
        Objective("speed", True),
        Objective("luts", False),
    ]
    assert usual(SUBJECT, ["cost"]) == []


def test_a_metric_cannot_be_both():
    with pytest.raises(UserError, match="cost cannot be both"):
        objectives(["cost"], ["cost"])
