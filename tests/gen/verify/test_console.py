import io

from rich.console import Console

from gen.verify.console import Progress, clock
from sim.verify.items import Item

TESTS = ["a.py::t[seed=1]", "a.py::u[seed=1]"]


def item(test, outcome="passed", message=""):
    return Item(test=test, seed=1, outcome=outcome, seconds=2.04, message=message)


def progress(terminal, **durations):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    return Progress(console, 2, durations), console


def printed(console):
    console.file.seek(0)
    return console.file.read()


def test_a_line_an_item_where_nobody_looks_on():
    shown, console = progress(False)
    with shown:
        shown.collected(TESTS)
        shown.collected(TESTS)
        for name, outcome in zip(TESTS, ("passed", "failed"), strict=True):
            shown.started(name)
            shown.finished(name, item(name[:7], outcome, "why [x]" * (outcome == "failed")))
    assert printed(console).splitlines() == [
        "2 items",
        "[1/2] passed  a.py::t seed 1  2.0 s",
        "[2/2] failed  a.py::u seed 1  2.0 s  why [x]",
    ]


def test_counts_and_what_runs_on_a_terminal():
    shown, console = progress(True)
    console.print(shown.display())
    assert "collecting" in printed(console)
    shown.collected(TESTS)
    shown.started(TESTS[0])
    shown.finished(TESTS[0], item("a.py::t"))
    shown.started(TESTS[1])
    console.print(shown.display())
    text = printed(console)
    for part in ("1/2", "1 passed", "0:00 a.py::u[seed=1]", "left"):
        assert part in text
    assert "a.py::t" not in text


def test_the_rest_is_what_it_took_before():
    shown, _ = progress(False, **{"a.py::t": 60.0, "a.py::u": 20.0})
    shown.collected(TESTS)
    assert round(shown.remaining()) == 40
    shown.finished(TESTS[0], item("a.py::t"))
    assert round(shown.remaining()) == 10


def test_clock():
    assert clock(59.9) == "0:59"
    assert clock(3601) == "60:01"
