"""Runs a regression of fake tests, once for all that is asked of it."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from sim.verify.items import Item
from sim.verify.regression import Options, Outcome, verify_json
from tests.sim.verify import sandbox

SLEEP = f"3141.{os.getpid()}"  #: seconds, by which what this process left over would be known

DRIVER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sim.verify import elsewhere
from sim.verify.regression import Options, run_regression

class Listener:
    def __init__(self):
        self.told = []
    def collected(self, tests):
        self.told.append(["collected", len(tests)])
    def started(self, nodeid):
        self.told.append(["started", nodeid])
        print("started", flush=True)
    def finished(self, nodeid, item):
        self.told.append(["finished", nodeid])

root, target = map(Path, sys.argv[1:3])
listener = Listener()
options = json.loads(sys.argv[3])
elsewhere.CHECKOUT = root
workers = [ThreadPoolExecutor(2)] if options.pop("elsewhere", False) else []
outcome = (elsewhere.run_elsewhere if workers else run_regression)(
    *workers,
    Options(root=root, targets=["tests"], durations=root / "durations.json", **options),
    listener,
)
target.write_text(json.dumps({
    "items": [item.to_json() | {"output": item.output} for item in outcome.items],
    "told": listener.told,
    "interrupted": outcome.interrupted,
    "trouble": outcome.trouble,
}))
"""


def start(root, **options):
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(root), str(root / "found.json"), json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "INGATHER"))},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "INGATHER_CACHE": str(root / "cache"),
            "PYTEST_ADDOPTS": "-k nothing",  # which is not the regression's
        },
        start_new_session=True,
        # A shell lets what runs in its background ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def regression(root, **options):
    assert start(root, **options).wait(120) == 0
    return json.loads((root / "found.json").read_text())


def left_over():
    return [p for p in psutil.process_iter(["cmdline"]) if SLEEP in (p.info["cmdline"] or [])]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    hangs = sandbox.HANGS.format(seconds=SLEEP)
    tests = (sandbox.GOOD, sandbox.ODD, hangs, sandbox.CRASHES, sandbox.OTHERS)
    root = sandbox.make(tmp_path_factory.mktemp("checkout"), *tests)
    return regression(root, seeds=[4, 5], jobs=2, timeout=2)


@pytest.fixture(scope="module")
def items(result):
    return {
        (item["test"].removeprefix("tests/sim/test_fake.py::"), item["seed"]): item
        for item in result["items"]
    }


def test_an_item_for_each_test_parameter_and_seed(result, items):
    outcomes = {name: item["outcome"] for name, item in items.items()}
    assert outcomes == {
        ("test_good[1]", 4): "passed",
        ("test_good[1]", 5): "passed",
        ("test_good[2]", 4): "passed",
        ("test_good[2]", 5): "passed",
        ("test_odd", 4): "passed",
        ("test_odd", 5): "failed",
        ("test_hangs", 4): "timeout",
        ("test_hangs", 5): "timeout",
        ("test_crashes", 4): "error",
        ("test_crashes", 5): "error",
        # What a fixture has simulated for all of them is simulated once.
        ("test_first", 4): "passed",
        ("test_second", 4): "passed",
        ("test_lacks", 4): "error",
        ("test_lacks", 5): "error",
        ("test_skipped", 4): "skipped",
        ("test_skipped", 5): "skipped",
    }
    assert len(result["items"]) == len(items)
    assert not result["interrupted"]
    assert result["trouble"] == ""


def test_runs_are_reported_with_their_seed_and_cycles(items):
    for seed in (4, 5):
        (run,) = items["test_good[1]", seed]["runs"]
        assert run["seed"] == seed
        assert run["cycles"] == 100
        assert run["cases"] == [
            {"name": "case", "passed": True, "cycles": 100, "seconds": 0.1, "message": ""}
        ]
    shared = [items[name, 4]["runs"] for name in ("test_first", "test_second")]
    assert sorted(map(len, shared)) in ([0, 1], [1, 1])  # once a worker


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_odd", "case: AssertionError: an odd seed"),
        ("test_hangs", "stopped after 2 s"),
        ("test_lacks", "fixture 'nothing_like_this' not found"),
        ("test_skipped", "not today"),
    ],
)
def test_messages_are_a_line(items, name, message):
    assert items[name, 5]["message"] == message


def test_a_crash_is_an_error_of_its_item(items):
    assert "crashed while running" in items["test_crashes", 4]["message"]
    assert items["test_crashes", 4]["runs"] == []


def test_a_failure_keeps_its_traceback(items):
    assert "SimulationError: 1 of 1 failed" in items["test_odd", 5]["output"]
    assert items["test_odd", 4]["output"] == ""


def test_a_time_out_leaves_no_process(items):
    assert items["test_hangs", 4]["seconds"] < 10
    assert left_over() == []


def test_listener_hears_of_all(result):
    reported = [what for what, _ in result["told"]]
    assert ["collected", 16] in result["told"]
    assert reported.count("started") == reported.count("finished") == 16


def from_the_terminal(process):
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("end", [from_the_terminal, subprocess.Popen.terminate])
def test_an_interrupt_keeps_what_has_ended(end, tmp_path):
    root = sandbox.make(tmp_path, sandbox.GOOD, sandbox.HANGS.format(seconds=SLEEP))
    process = start(root, jobs=1, timeout=100)
    assert process.stdout is not None
    for _ in range(3):  # the third is the one that hangs
        assert process.stdout.readline() == "started\n"
    time.sleep(0.5)
    before = time.monotonic()
    end(process)
    assert process.wait(60) == 0
    assert time.monotonic() - before < 30
    result = json.loads((root / "found.json").read_text())
    assert result["interrupted"]
    assert [item["outcome"] for item in result["items"]] == ["passed", "passed"]
    assert left_over() == []


def test_elsewhere_all_is_as_in_this_process(result, tmp_path):
    tests = (sandbox.GOOD, sandbox.ODD, sandbox.CRASHES, sandbox.OTHERS)
    remote = regression(sandbox.make(tmp_path, *tests), elsewhere=True, seeds=[4, 5], timeout=2)
    assert remote["told"][0] == ["collected", 14]

    def known(items):
        which = ("test", "seed", "outcome", "message")
        rows = [[item[name] for name in which] for item in items if "hangs" not in item["test"]]
        return sorted(rows)

    assert [row[:3] for row in known(remote["items"])] == [
        row[:3] for row in known(result["items"])
    ]
    (odd,) = (row for row in known(remote["items"]) if row[0].endswith("odd") and row[1] == 5)
    assert odd[2:] == ["failed", "case: AssertionError: an odd seed"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_file_that_cannot_be_imported_is_an_error(elsewhere, tmp_path):
    root = sandbox.make(tmp_path, "import nothing_like_this\n", sandbox.GOOD)
    result = regression(root, elsewhere=elsewhere)
    assert ["finished", "tests/sim/test_fake.py"] in result["told"]
    (item,) = result["items"]
    assert item["test"] == "tests/sim/test_fake.py"
    assert item["outcome"] == "error"
    assert item["message"] == "ModuleNotFoundError: No module named 'nothing_like_this'"


def test_the_longest_comes_first(tmp_path):
    root = sandbox.make(tmp_path, sandbox.GOOD, sandbox.ODD)
    name = "tests/sim/test_fake.py::test_"
    durations = {f"{name}good[1]": 1, f"{name}good[2]": 3, f"{name}odd": 2}
    (root / "durations.json").write_text(json.dumps(durations))
    reported = regression(root, keyword="odd or good")["told"]
    started = [nodeid.removeprefix(name) for what, nodeid in reported if what == "started"]
    assert started == ["good[2]", "odd", "good[1]"]


RUN = {"seconds": 2.0, "build_seconds": 0.5, "cycles": 40, "built": True, "cases": []}


def item(test, seed, *runs):
    return Item(test=test, seed=seed, outcome="passed", seconds=3, runs=runs)


def test_items_in_order_and_sums():
    options = Options(
        root=Path(), targets=["tests"], seeds=[3, 4], jobs=2, keyword="k", durations=Path()
    )
    outcome = Outcome([item("b", 3, RUN), item("a", 4), item("a", 3, RUN, RUN)], interrupted=True)
    built = verify_json(options, outcome, datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), 1.23456)
    assert [(item["test"], item["seed"]) for item in built.pop("items")] == [
        ("a", 3),
        ("a", 4),
        ("b", 3),
    ]
    assert built == {
        "format": 1,
        "made_by": "ingather",
        "command": "verify",
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 1.235,
        "jobs": 2,
        "seeds": [3, 4],
        "targets": ["tests"],
        "filter": "k",
        "interrupted": True,
        "simulation_seconds": 6.0,
        "build_seconds": 1.5,
    }
