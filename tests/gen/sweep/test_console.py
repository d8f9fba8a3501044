import io
from dataclasses import replace

import pytest
from rich.console import Console

from gen.output.consoles import print_wide
from gen.sweep.console import Show, shown, table
from gen.sweep.plan import Plan
from tests.gen.console import without_progress
from tests.gen.sweep.fake import spec


@pytest.fixture
def plan(fakes):
    return Plan(spec(grid={"size": [1, 2], "load": [1]}))


def built(plan, **options):
    console = Console(file=io.StringIO(), width=100, highlight=False, **options)
    return Show(plan, console), console


def test_a_line_a_point_where_there_is_no_terminal(plan):
    show, console = built(plan)
    points = [point.row for point in plan.points()]
    with show.showing():
        show.begins(4, 1, [replace(points[0], error="size [9]")])
        show.works(["building"])
        show.ended(replace(points[0], status="done", metrics={"speed": 1234.5}, seconds=1.26))
        show.ended(replace(points[1], status="failed", error="no [bold]"))
    assert without_progress(console.file.getvalue()).splitlines() == [
        "1 of 4 points are there already",
        "1 of 4 points are illegal:",
        "  size=1, load=1: size [9]",
        "3/4 size=1, load=1: speed 1,234, cost - (1.3 s)",
        "4/4 size=2, load=1: FAILED: no [bold]",
    ]


def test_reasons_of_illegal_points_are_shown_once(plan):
    """The most frequent comes first; no more than 20 are shown."""
    show, console = built(plan)
    row = plan.points()[0].row
    errors = ["rare", *3 * ["[often]"], *2 * ["twice"]]
    show.refused("why:", [replace(row, error=error) for error in errors])
    assert console.file.getvalue().splitlines() == [
        "why:",
        "  3 points, such as size=1, load=1: [often]",
        "  2 points, such as size=1, load=1: twice",
        "  size=1, load=1: rare",
    ]
    show, console = built(plan)
    show.refused("why:", [replace(row, error=str(number)) for number in range(23)])
    lines = console.file.getvalue().splitlines()
    assert lines[-2:] == ["  size=1, load=1: 19", "  and 3 more reasons"]


def test_a_bar_on_a_terminal_and_lines_of_failures_only(plan):
    show, console = built(plan, force_terminal=True)
    points = [point.row for point in plan.points()]
    with show.showing():
        show.begins(2, 0)
        show.ended(replace(points[0], status="done", metrics={"speed": 1.0}))
        show.works(["building fake"])
        show.ended(replace(points[1], status="failed", error="too bad"))
    text = console.file.getvalue()
    assert " s left; building fake" in text
    assert "FAILED: too bad" in text
    assert "load=1: speed" not in text


def test_a_table_shows_what_varies_and_what_was_requested(plan):
    console = Console(file=io.StringIO(), width=20)
    row = replace(plan.points()[1].row, metrics={"speed": 1234567.8, "ideal": 3})
    print_wide(console, table(plan, [row]))
    head, line = [text.split() for text in console.file.getvalue().splitlines()]
    assert head == ["size", "load", "speed", "cost"]
    assert line == ["2", "1", "1,234,568", "-"]


def test_numbers_are_short():
    assert [shown(v) for v in (None, 3.0, 1e6, 1234.56, 0.001234567)] == [
        "-",
        "3",
        "1,000,000",
        "1,235",
        "0.001235",
    ]
