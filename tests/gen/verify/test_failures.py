import base64
import io
import pickle

import pytest
from rich.console import Console

import sim.verify.rerun
from gen.verify.failures import explain, show
from sim.verify.items import Item

CASES = {"cases": [{"name": "good", "passed": True}, {"name": "bad[1]", "passed": False}]}
WRONG = {"cycle": 12, "stream": "o", "index": 3, "field": "x", "expected": "7", "got": "9"}


def item(test, outcome="failed", failed=False):
    pickled = base64.b64encode(pickle.dumps(("simulation", test))).decode()
    return Item(
        test=test,
        seed=7,
        outcome=outcome,
        seconds=1,
        message="why",
        runs=(CASES,) if failed else (),
        output="traceback\n",
        failed=pickled if failed else "",
    )


@pytest.fixture
def investigated(monkeypatch):
    """Return what is run again."""
    done = []

    def investigate(simulation, run, folder, *, test):
        done.append((simulation, run, folder.name, test))
        if run == "breaks":
            raise OSError("no space")
        log = folder / "log.txt"
        log.touch()
        return {
            "case": "bad[1]",
            "first_wrong": WRONG,
            "replay": "do it again",
            "log": str(log),
            "waves": "/elsewhere/dump.vcd",
            "gtkw": None,
            "note": "",
        }

    monkeypatch.setattr(sim.verify.rerun, "investigate", investigate)
    return done


def test_every_failure_has_a_folder_and_the_first_are_run_again(investigated, tmp_path):
    items = [
        item("p", "passed"),
        item("error", "error"),
        *(item(name, failed=True) for name in "abc"),
    ]
    reported = []
    explained = explain(items, tmp_path, 2, reported.append)
    assert investigated == [("simulation", "a", "2", "a"), ("simulation", "b", "3", "b")]
    assert len(reported) == 2
    assert sorted(path.name for path in (tmp_path / "failures").iterdir()) == list("1234")
    assert (tmp_path / "failures/1/pytest.txt").read_text() == "traceback\n"
    good, error, first, _, third = explained
    assert good.failure is None
    assert error.failure == {
        "case": "",
        "first_wrong": None,
        "replay": "ingather verify error --seed 7 --waves",
        "log": "failures/1/pytest.txt",
        "waves": None,
        "gtkw": None,
        "note": "",
    }
    assert first.failure["log"] == "failures/2/log.txt"
    assert first.failure["waves"] == "/elsewhere/dump.vcd"
    assert first.failure["first_wrong"] == WRONG
    assert third.failure["case"] == "bad[1]"
    assert third.failure["first_wrong"] is None


def test_an_explanation_that_fails_is_reported(investigated, tmp_path):
    (explained,) = explain([item("breaks", failed=True)], tmp_path, 1, lambda _: None)
    assert explained.failure["note"] == "not run again: OSError: no space"
    assert explained.failure["log"] == "failures/1/pytest.txt"
    assert explained.failure["replay"].startswith("ingather verify breaks")


def test_what_the_console_says(investigated, tmp_path):
    console = Console(file=io.StringIO(), width=200)
    items = explain([item("a[x]", failed=True), item("p", "passed")], tmp_path, 1, lambda _: None)
    show(console, items, tmp_path)
    console.file.seek(0)
    assert console.file.read().strip().splitlines() == [
        "failed  a[x] seed 7",
        "  why     why",
        "  wrong   cycle 12: o[3] x: expected 7, got 9",
        "  replay  do it again",
        f"  log     {tmp_path}/failures/1/log.txt",
        "  waves   /elsewhere/dump.vcd",
    ]
