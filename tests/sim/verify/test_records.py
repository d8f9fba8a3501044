import subprocess
import time
from pathlib import Path

import psutil

from hdl.common.fifo import Fifo, FifoParams
from sim.harness.results import Case, Run
from sim.harness.verilator import Simulation
from sim.verify.records import describe, end_children


def run(*cases):
    return Run(
        top="fifo",
        seed=3,
        seconds=1.23456,
        tests=cases,
        folder=Path("/nowhere"),
        built=True,
        build_seconds=0.5,
    )


def test_a_run_as_json():
    cases = (
        Case(name="a", passed=True, sim_ns=400.0, seconds=0.1),
        Case(name="b", passed=False, sim_ns=40.0, seconds=0.2, message="wrong"),
    )
    simulation = Simulation(
        component=Fifo, params=FifoParams(shape=8, depth=2), test_module="tests.x"
    )
    assert describe(simulation, run(*cases)) == {
        "component": "hdl.common.fifo.Fifo",
        "top": "fifo",
        "test_module": "tests.x",
        "seed": 3,
        "built": True,
        "build_seconds": 0.5,
        "seconds": 1.235,
        "cycles": 110,
        "cases": [
            {"name": "a", "passed": True, "cycles": 100, "seconds": 0.1, "message": ""},
            {"name": "b", "passed": False, "cycles": 10, "seconds": 0.2, "message": "wrong"},
        ],
    }


def test_a_run_without_a_component():
    reported = describe(None, run())
    assert (reported["component"], reported["test_module"], reported["cycles"]) == ("", "", 0)


def test_children_are_ended_with_their_own():
    child = subprocess.Popen(["sh", "-c", "sleep 2718.5; true"])
    deadline = time.monotonic() + 20
    while not (below := psutil.Process(child.pid).children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    end_children()
    child.wait(20)
    psutil.wait_procs(below, timeout=20)
    assert below
    assert not any(process.is_running() for process in below)
