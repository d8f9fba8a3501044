"""Adds a design of somebody else's: a package with a descriptor, of which nothing here knows."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from sim.harness.cache import CHECKOUT, cache_root

PACKAGE = CHECKOUT / "gen/tutorials/tally"
POINT = "[ingather.designs]\ntally = tally.descriptor:DESIGN\n"
SWEEP = 'design = "tally"\nmetrics = ["count", "wraps", "luts"]\n[grid]\nevents = [3, 20]\n'


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with the package, and its metadata as pip would install them."""
    folder = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(PACKAGE, folder, dirs_exist_ok=True)
    metadata = folder / "tally-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tally\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(POINT)
    return folder


@pytest.fixture
def ingather(home):
    """Run the command in the package's folder; return its output."""
    paths = os.pathsep.join([str(home), str(CHECKOUT)])
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment = clean | {"PYTHONPATH": paths, "INGATHER_CACHE": str(cache_root())}

    def run(*arguments, status=0):
        command = [sys.executable, "-m", "gen", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_it_is_listed_with_its_parameters(ingather):
    lines = ingather("list", "--params").splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("tally "))
    assert lines[place].split(maxsplit=1)[1] == "a counter of events"
    assert lines[place + 1].split() == ["narrow", "bits=4", "(default)"]
    assert any("--set bits=8" in line and "width of the count" in line for line in lines[place:])


def test_it_is_generated_with_registers_and_datasheet(ingather, home):
    ingather("generate", "tally", "--preset", "wide", "-o", "made")
    assert "module tally (" in "".join(path.read_text() for path in (home / "made/rtl").iterdir())
    assert json.loads((home / "made/manifest.json").read_text())["parameters"] == {"bits": 32}
    assert "events" in (home / "made/registers.json").read_text()
    assert "Counts the cycles" in (home / "made/datasheet.html").read_text()
    assert "bits" in ingather("generate", "tally", "--set", "bits=33", "-o", "no", status=2)


def test_it_is_estimated(ingather, home):
    ingather("synth", "tally", "--json", "made.json")
    assert json.loads((home / "made.json").read_text())["total"]["ff"] > 4


def test_it_runs_sweeps_and_is_reported(ingather, home):
    assert "ingather count --events 20" in ingather("count", "--help")
    assert "wrote out/run: result.json" in ingather("count", "--events", 20, "-o", "out/run")
    result = json.loads((home / "out/run/result.json").read_text())
    assert (result["workload"], result["exact"]) == ({"events": 20}, True)
    assert result["figures"] == {"count": 4, "cycles": 20, "wraps": 1}
    assert "less than or equal to 1000" in ingather("count", "--events", 1001, status=2)

    (home / "sweep.toml").write_text(SWEEP)
    ingather("sweep", "sweep.toml", "-o", "out/sweep.sqlite", "--jobs", 1)
    ingather("report", "out", "-o", "report.html")
    page = (home / "report.html").read_text()
    for text in ("<h2", "count</h2>", "Sweep sweep", "<code>events</code>", "runs of count exact"):
        assert text in page


def test_its_own_tests_are_its_regression(ingather, home):
    ingather("verify", "tally", "-o", "verified", "--jobs", 1)
    content = json.loads((home / "verified/verify.json").read_text())
    (item,) = content["items"]
    assert (item["test"], item["outcome"]) == ("tests/test_tally.py::test_tally", "passed")
    assert [case["name"] for run in item["runs"] for case in run["cases"]] == ["wraps"]


def test_a_descriptor_that_cannot_be_imported_is_named(ingather, home):
    broken = home / "broken-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[ingather.designs]\nbroken = nowhere:DESIGN\n")
    try:
        text = ingather("list", status=2)
        assert text.strip() == (
            "ingather: the design broken (nowhere:DESIGN) fails:"
            " ModuleNotFoundError: No module named 'nowhere'"
        )
    finally:
        shutil.rmtree(broken)
