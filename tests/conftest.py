"""Options of the whole suite: the seed, waves, and how many simulations were built."""

import os
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, help="replay the random choices of an earlier run")
    parser.addoption("--waves", action="store_true", help="write a waveform of every simulation")
    parser.addoption("--update-ports", action="store_true", help="rewrite the committed ports")


def pytest_configure(config):
    # xdist's workers are born later and inherit the environment.
    if not hasattr(config, "workerinput"):
        seed = config.getoption("--seed")
        seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
        os.environ["INGATHER_SEED"] = str(seed)
        os.environ["INGATHER_WAVES"] = "1" if config.getoption("--waves") else ""
        os.environ["INGATHER_TALLY"] = tempfile.mkstemp(prefix="ingather-tally-")[1]


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        Path(os.environ.pop("INGATHER_TALLY")).unlink(missing_ok=True)


def pytest_report_header():
    return f"seed: {os.environ['INGATHER_SEED']} (replay with --seed)"


def pytest_terminal_summary(terminalreporter):
    lines = Path(os.environ["INGATHER_TALLY"]).read_text().splitlines()
    counts = Counter(line.split()[0] for line in lines)
    seconds = sum(float(line.split()[2]) for line in lines if line.startswith("built"))
    if counts:
        terminalreporter.write_line(
            f"{counts['built']} simulations built in {seconds:.0f} s,"
            f" {counts['found']} from cache; seed {os.environ['INGATHER_SEED']}"
        )


@pytest.fixture
def seed():
    """The seed of this session; it is printed with a failing test."""
    print(f"seed {os.environ['INGATHER_SEED']}")
    return int(os.environ["INGATHER_SEED"])


@pytest.fixture
def rng(seed):
    """NumPy's generator, seeded for this session."""
    return np.random.default_rng(seed)
