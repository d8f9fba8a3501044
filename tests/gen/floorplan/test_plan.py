"""Tests a plan's names and patterns."""

import pytest

from gen.floorplan.plan import Plan, PlanPart

PLAN = Plan(
    parts=(
        PlanPart(name="one", cells=("core/group_1", "core/path_*")),
        PlanPart(name="all", cells=("core/group_*", "x/y/z")),
    )
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("core/group_1", "one"),
        ("core/path_12", "one"),
        ("core/group_2", "all"),
        ("core/group_2/engine", None),
        ("core", None),
        ("x/y/z", "all"),
        ("Core/group_1", None),
    ],
)
def test_entry(path, name):
    entry = PLAN.entry(tuple(path.split("/")))
    assert (entry and entry.name) == name


@pytest.mark.parametrize(
    ("path", "below"),
    [("core", True), ("x", True), ("x/y", True), ("core/group_1", False), ("y", False)],
)
def test_looks_below(path, below):
    assert PLAN.looks_below(tuple(path.split("/"))) is below


def test_a_star_stays_within_a_name():
    plan = Plan(parts=(PlanPart(name="p", cells=("*/b",)),))
    assert plan.entry(("a", "b"))
    assert plan.entry(("a", "a", "b")) is None
