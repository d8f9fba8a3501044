"""Sends SIGINT or SIGTERM to the command alone: nothing that it has started or written stays."""

import json
import re
import signal
from pathlib import Path

import psutil
import pytest

from sim.harness.cache import cache_root
from tests.gen.commands.trouble import below, ended, left_in, start, until
from tests.sim.harness.cache_folders import lives

TRAIN = ("train", "--preset", "tiny", "-o", "above/out")
SWEEP = """
design = "p4sgd-worker"
preset = "tiny"
metrics = ["cycles_per_epoch"]
set = {samples = 64, features = 64}
grid = {bits = [3]}
"""


def endless_tools(folder):
    """Install a compiler that no simulator was made by, and a make whose children never end."""
    scripts = {"make": "sleep 1000 & sleep 1000", "g++": f"echo {folder}"}
    (folder / "bin").mkdir()
    for name, text in scripts.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}


def interrupted(process, name, number):
    """Send a signal once a program of ``name`` runs; return what comes of it, if none stays."""
    until(lambda: below(process, name))
    everything = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    status, errors = ended(process)
    until(lambda: not any(map(lives, everything)))
    return status, errors


def unfinished(process, cache=None):
    """Return what is in a cache, ours unless it is given, under the name of a command."""
    return [str(path) for path in Path(cache or cache_root()).rglob(f"*command-{process.pid}-*")]


@pytest.mark.parametrize(
    ("arguments", "number", "says", "left"),
    [
        (TRAIN, signal.SIGINT, "nothing was written to above/out", []),
        pytest.param(
            ("sweep", "bits.toml", "--jobs", "1"),
            signal.SIGTERM,
            "points that had ended are in build/bits.sqlite",
            ["build"],
            marks=pytest.mark.long,
        ),
        (
            ("verify", "hdl.common.fifo", "--coverage", "-o", "out"),
            signal.SIGTERM,
            "what had ended is in the reports; no coverage: it needs a whole run",
            ["out"],
        ),
        pytest.param(
            ("mutate", "hdl.common.fifo", "-o", "out", "--sample", "1", "--seeds", "1"),
            signal.SIGINT,
            "components that had ended are in out",
            ["out"],
            marks=pytest.mark.long,
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_no_compiler_stays(arguments, number, says, left, tmp_path):
    tools = endless_tools(tmp_path)
    if arguments[0] == "sweep":  # which knows what it has built, whatever the compiler
        tools["INGATHER_CACHE"] = str(tmp_path / ".cache")
    (tmp_path / "bits.toml").write_text(SWEEP)
    process = start(tmp_path, *arguments, **tools)
    status, errors = interrupted(process, "sleep", number)
    assert status == 128 + number
    *progress, last = errors.strip().splitlines()  # of mutate, progress goes there too
    assert all(re.fullmatch(r".* \.\.\. \d+ s", line) for line in progress), errors
    assert last.startswith("ingather: interrupted; ")
    assert says in last
    assert left_in(tmp_path) == sorted(["bin", "bits.toml", *left])
    assert unfinished(process, tools.get("INGATHER_CACHE")) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_epochs_that_had_ended_are_kept(tmp_path):
    process = start(tmp_path, *TRAIN, "--epochs", 5000, "--batch", 64)
    heard = [process.stdout.readline()]
    while heard[-1].split()[:1] != ["2"]:
        heard.append(process.stdout.readline())
        assert heard[-1], heard
    process.send_signal(signal.SIGINT)
    status, errors = ended(process)
    assert status == 130
    assert errors == "ingather: interrupted; what had ended is in above/out\n"
    result = json.loads((tmp_path / "above/out/result.json").read_text())
    assert result["unfinished"]
    assert result["exact"]
    assert 2 <= len(result["epochs"]) < 5000
    assert (tmp_path / "above/out/weights.npz").is_file()
    assert unfinished(process) == []


def test_no_simulator_stays(tmp_path):
    process = start(tmp_path, *TRAIN, "--epochs", 5000)
    status, errors = interrupted(process, "simulation", signal.SIGTERM)
    assert status == 143
    assert errors == "ingather: interrupted; nothing was written to above/out\n"
    assert left_in(tmp_path) == []
    assert unfinished(process) == []
    assert list((tmp_path / "tmp").iterdir()) == []
