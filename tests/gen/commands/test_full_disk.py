"""Tests that a command whose disk is full says so in a line, and leaves nothing half-written."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

import pytest

from tests.gen.commands.trouble import ended, is_one_line, start
from tests.gen.report.sample import everything
from tests.sim.switchgnn.gcn.cases import problem, saved

SWEEP = 'design = "p4sgd-engine"\npreset = "tiny"\nmetrics = ["lut"]\ngrid = {lanes = [8]}\n'
TINY = ("--preset", "tiny")
GRAPH = ("--data", "graph.npz", "--workers", "3", "--hidden", "2", "--labels", "5", "--epochs", "1")
COMMANDS = {
    "generate": ("generate", "p4sgd-engine", *TINY),
    "card": ("generate", "p4sgd-switch", *TINY, "--board", "u280"),
    "train": ("train", *TINY, "--samples", "64", "--features", "64", "--epochs", "2"),
    "spmm": ("spmm", *TINY, "--matrix", "queen:rows=80"),
    "gather": ("gather", *TINY),
    "gcn": ("gcn", *TINY, *GRAPH),
    "schedule": ("schedule",),
    "synth": ("synth", "p4sgd-engine", *TINY),
    "verify": ("verify", "hdl.common.counter_banks"),
    "coverage": ("verify", "hdl.common.counter_banks", "--coverage"),
    "mutate": ("mutate", "hdl.common.fifo", "--sample", "1", "--control", "1", "--seeds", "1"),
    "sweep": ("sweep", "sweep.toml", "--jobs", "1"),
    "report": ("report", "results"),
    "reproduce": ("reproduce", "switchgnn", "--only", "copies", "--quick"),
}
KEEPS = ("mutate", "sweep")  #: what had ended stays, and the same command goes on there


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory):
    """Return variables for a library that makes a disk full, and for a cache of these tests."""
    folder = tmp_path_factory.mktemp("full")
    source, library = Path(__file__).with_name("full_disk.c"), folder / "full_disk.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    stored = {"INGATHER_CACHE": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}  # or it leaves halves
    return {"LD_PRELOAD": str(library), **stored}


def contents(work, but):
    """Return what is in a folder, by path, except in temporary files and in what ``but`` finds."""
    left = {"tmp", *(path.name for path in work.glob(but))}
    present = [path for path in work.rglob("*") if path.relative_to(work).parts[0] not in left]
    return {path: path.is_file() and path.read_bytes() for path in present}


@pytest.mark.parametrize(
    ("name", "places"),
    [("report", 3), *(pytest.param(name, 20, marks=pytest.mark.long) for name in COMMANDS)],
)
def test_a_full_disk_is_one_line(name, places, full_disk, tmp_path):
    work, spent = tmp_path / "work", tmp_path / "spent"
    (work / "results").mkdir(parents=True)
    everything(work / "results")
    (work / "sweep.toml").write_text(SWEEP)
    saved(work, problem())

    def outcome(most=-1, **options):
        spent.write_bytes(bytes(8))
        counter = {"FULL_DISK_FILE": str(spent), "FULL_DISK_BYTES": str(most)}
        return ended(start(work, *COMMANDS[name], "-o", "out", **full_disk, **counter, **options))

    assert outcome()[0] == 0  # what is in the cache from now on is not written again
    files = [path.stat().st_size for path in work.rglob("*") if path.is_file()]
    subprocess.run(["rm", "-r", work / "out"], check=True)
    assert outcome()[0] == 0
    total = int.from_bytes(spent.read_bytes(), "little")
    cases = [partial(outcome, place * total // places) for place in range(places)]
    for most in range(0, max(files), 1 + 3 * max(files) // places):
        cases.append(partial(outcome, before=partial(setrlimit, RLIMIT_FSIZE, (most, most))))
    result = []
    for number, case in enumerate(cases):
        if number % 2 or name in KEEPS:  # SQLite has files of its own beside that of a sweep
            subprocess.run(["rm", "-rf", *work.glob("out*")], check=True)
        before = contents(work, but := "out*" if name in KEEPS else "tmp")
        status, errors = case()
        result.append(status)
        reported = "\n".join(line for line in errors.splitlines() if not line.endswith(" s"))
        assert status == 0 or (status == 2 and is_one_line(reported)), (
            f"{number}: {status} {errors}"
        )
        assert status == 0 or contents(work, but) == before
        assert not list((work / "tmp").iterdir())
        if status and name in KEEPS and any(work.glob("out*")):
            assert outcome()[0] == 0  # it goes on there
    print(f"{name}: {total:,} bytes, {len(cases)} places, exit statuses {result}")


def test_standard_output_that_is_full_is_one_line(tmp_path):
    status, errors = ended(start(tmp_path, "list", stdout=os.open("/dev/full", os.O_WRONLY)))
    assert (status, is_one_line(errors)) == (2, True)


def test_a_mistake_ends_in_its_status_though_nobody_can_be_informed():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "gen", "trian"], stderr=full, check=False)
    assert done.returncode == 2
