"""Sweeps and searches on a cluster in this process; a sweep that is killed runs on a real one."""

import io
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from rich.console import Console

from gen.base.errors import UserError
from gen.sweep import sweeping
from gen.sweep.plan import Plan
from gen.sweep.search import SearchPlan
from gen.sweep.store import Store
from gen.sweep.sweeping import Where
from tests.gen.sweep.fake import FakeClient, noted, spec, wait_for


class Here(Where):
    """Keeps a cluster in this process, begun at most once."""

    begun = 0

    @contextmanager
    def cluster(self, plan):
        type(self).begun += 1
        yield FakeClient()


@pytest.fixture
def path(fakes, tmp_path):
    Here.begun = 0
    return tmp_path / "a.sqlite"


def sweep(path, retry=False, **parts):
    console = Console(file=io.StringIO(), width=100)
    plan = Plan(spec(**parts))
    failed = sweeping.sweep(plan, plan.points(), parts, path, Here(), console, retry)
    return failed, console.file.getvalue()


def search(path, count, **parts):
    console = Console(file=io.StringIO(), width=100)
    plan = SearchPlan(spec(search={"minimise": ["cost"], "maximise": ["speed"], **parts}))
    failed = sweeping.search(plan, parts, path, Here(), console, count)
    return failed, console.file.getvalue()


def test_a_sweep_ends_with_its_best_and_where_it_is(path):
    failed, text = sweep(path, grid={"size": [1, 2, 9]})
    assert failed == 1
    illegal = "1 of 3 points are illegal:\n  size=9: size must be from 1 to 8: 9\n"
    assert text.startswith(illegal)
    assert "the best for large speed:\n" in text
    assert text.endswith(f"2 points done\n{illegal}wrote {path}\n")


def test_points_that_fail_and_those_that_are_illegal_count(path):
    failed, text = sweep(path, grid={"size": [7, 8, 9, 10]})
    assert failed == 3
    assert "1 points done, 1 failed, such as: seven cannot be built\n2 of 4 points are" in text


def test_a_sweep_of_illegal_points_writes_nothing(path):
    console = Console(file=io.StringIO(), width=100)
    plan = Plan(spec(grid={"size": [9], "load": [1, 2]}))
    with pytest.raises(UserError, match="no point of the sweep is legal"):
        sweeping.sweep(plan, plan.points(), {}, path, Here(), console)
    assert console.file.getvalue().splitlines() == [
        "2 of 2 points are illegal:",
        "  2 points, such as size=9, load=1: size must be from 1 to 8: 9",
    ]
    assert not path.exists()


@pytest.mark.parametrize("part", ["grid", "zip", "derive", "steps"])
def test_other_points_are_another_sweep(part, path):
    """The file then shows the new points and no others."""
    values = {
        "grid": ({"size": [1]}, {"size": [2]}),
        "zip": ({"size": [1]}, {"size": [2]}),
        "derive": ({"size": "1"}, {"size": "2"}),
        "steps": ([{"size": 1}], [{"size": 2}]),
    }[part]
    for value in values:
        sweep(path, **{"grid": {"load": [1]}, part: value})
    assert [row.parameters["size"] for row in Store(path).points()] == [2]


def test_what_is_there_needs_no_cluster(path, fakes):
    sweep(path, grid={"size": [1, 2]})
    assert Here.begun == 1
    _, text = sweep(path, grid={"size": [1, 2]})
    assert "2 of 2 points are there already" in text
    assert Here.begun == 1
    sweep(path, grid={"size": [2, 3]})
    assert sorted(noted(fakes, "measured")) == ["1 1", "2 1", "3 1"]
    assert [row.parameters["size"] for row in Store(path).points()] == [2, 3]


def test_failures_are_tried_again_when_requested(path, fakes):
    grid = {"grid": {"trouble": ["", "raise"]}}
    assert sweep(path, **grid)[0] == 1
    assert sweep(path, **grid)[0] == 1
    assert len(noted(fakes, "started")) == 2
    assert sweep(path, retry=True, **grid)[0] == 1
    assert len(noted(fakes, "started")) == 3


def test_a_search_tries_so_many_and_goes_on(path, fakes):
    space = {"size": {"from": 1, "to": 8}, "load": {"from": 1, "to": 50}}
    failed, text = search(path, 6, ranges=space, constraints=["cost <= 16"])
    assert "6 points done" in text or failed
    first = [row.key for row in Store(path).points()]
    assert len(first) == 6
    search(path, 6, ranges=space, constraints=["cost <= 16"])
    assert [row.key for row in Store(path).points()] == first
    search(path, 12, ranges=space, constraints=["cost <= 16"])
    assert [row.key for row in Store(path).points()][:6] == first
    assert len(Store(path).points()) == 12
    assert len(noted(fakes, "started")) <= 12


def test_a_small_space_ends_a_search(path):
    _, text = search(path, 5, ranges={"size": [1, 2, 3]}, constraints=[])
    assert "no more than 3 different points were found" in text


def test_illegal_points_do_not_count(path):
    failed, text = search(path, 4, ranges={"size": {"from": 6, "to": 12}}, constraints=[], seed=3)
    rows = Store(path).points()
    assert {row.parameters["size"] for row in rows if row.status == "done"} == {6, 8}
    assert failed == 1  # a simulator of size 7 cannot be built
    drawn = sum(row.parameters["size"] > 8 for row in rows)
    assert drawn
    assert f"\n{drawn} more were drawn that are illegal:\n  " in text
    assert "size=12: size must be from 1 to 8: 12\n" in text
    assert "no more than 3 different points were found" in text


CHILD = """
import sys
from pathlib import Path
from rich.console import Console
from tests.gen.sweep import fake
from tests.gen.sweep.test_sweeping import GRID, Plan, Where, spec, sweeping

if __name__ == "__main__":
    fake.install(setattr, sys.argv[1], sys.argv[2])
    plan = Plan(spec(**GRID))
    sweeping.sweep(plan, plan.points(), GRID, Path(sys.argv[3]), Where(jobs=2), Console())
"""
GRID = {"grid": {"size": [1, 2], "load": list(range(1, 9))}, "set": {"pause": 0.2}}


def test_a_sweep_that_is_killed_goes_on(path, fakes, tmp_path):
    """With kill -9, on two processes of Dask; afterwards nothing is measured twice."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    command = [sys.executable, str(script), str(fakes), str(tmp_path / "cache"), str(path)]
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(done(path)) >= 4)
    finally:
        child.kill()
        child.wait()
    before = done(path)
    assert 4 <= len(before) < 16
    time.sleep(0.5)  # what its workers had under way
    measured = len(noted(fakes, "started"))
    failed, text = sweep(path, **GRID)
    assert failed == 0
    assert f"{len(before)} of 16 points are there already" in text
    assert len(noted(fakes, "started")) == measured + 16 - len(before)
    rows = Store(path).points()
    assert [row for row in rows if row.key in before] == list(before.values())
    assert {row.status for row in rows} == {"done"}
    assert sorted(noted(fakes, "builds")) == ["1", "2"]


def done(path):
    if not path.exists():
        return {}
    try:
        return {row.key: replace(row) for row in Store(path).points() if row.status == "done"}
    except Exception:  # not yet begun
        return {}
