"""Runs the bench in a generated folder as it is, on the emitted Verilog, without the project."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from sim.harness.build_tools import require_verilator, verilator_command
from sim.p4sgd.golden.sgd import Loss
from sim.workloads.datasets import load
from tests.gen.software.generated import WITH_SOFTWARE, poisoned, write
from tests.long import short_and_long

#: designs with software, and the smallest build that its bench can use
SMALLEST = {
    "p4sgd-worker": {"slots": 8},
    "netsparse-snic": {},
    "p4sgd-switch": {"slots": 16},
    "mina-switch": {},
    "netsparse-switch": {},
    "switchgnn-switch": {},
    "switchgnn-endpoint": {},
    "gather-engine": {},
}

SHORT = ["netsparse-snic", "gather-engine"]  #: those that are quick to build
SAMPLES = 203  #: of the digits; they fill neither a mini-batch nor a micro-batch


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Verilator on the path, the compiler in a hurry, and a path of Python without the project."""
    tools = tmp_path_factory.mktemp("tools")
    variables = [*require_verilator().variables, "OPT_FAST=-O0", "OPT_GLOBAL=-O0"]
    path = os.environ["PATH"]
    command = verilator_command(tools)[0]
    if os.path.isabs(command):
        path = f"{os.path.dirname(command)}{os.pathsep}{path}"
    (tools / "hidden").mkdir()
    return {
        "PATH": path,
        "MAKEFLAGS": " ".join(variables),
        "PYTHONPATH": str(poisoned(tools / "hidden")),
        **({"VERILATOR_ROOT": str(tools / "verilator")} if os.path.isabs(command) else {}),
    }


def arguments(name, folder):
    """Return those of a bench that takes data: some of scikit-learn's digits."""
    if name != "p4sgd-worker":
        return []
    digits = load("digits", loss=Loss.LOGISTIC, order=1)
    np.savez(folder / "digits.npz", X=digits.features[:SAMPLES], y=digits.labels[:SAMPLES])
    return [f"+data={folder / 'digits.npz'}"]


@pytest.mark.parametrize("name", short_and_long(SMALLEST, SHORT))
def test_a_bench_runs_as_it_is(name, environment, tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    write(name, "tiny", folder, **SMALLEST[name])
    before = sorted(folder.rglob("*"))
    done = subprocess.run(
        [sys.executable, "made/bench/run.py", *arguments(name, tmp_path)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "TESTS=1 PASS=1 FAIL=0" in done.stdout
    assert name != "p4sgd-worker" or "all 64 weights equal the golden model's" in done.stdout
    assert "imports the project" not in done.stdout
    assert sorted(folder.rglob("*")) == before
    shutil.rmtree(tmp_path / "made-bench")


def test_each_bench_is_run():
    assert {*SMALLEST} == {*WITH_SOFTWARE}
