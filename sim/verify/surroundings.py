"""Gives every test its surroundings, as pytest's plugin: waves, a seed, a count of builds."""

import gc
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from sim.harness.environment import forget

forget()  # before a module of tests imports cocotb
# Examples come from the item's seed alone, and take as long as a busy machine makes them take.
settings.register_profile("ingather", database=None, deadline=None)
settings.load_profile("ingather")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options --waves and --case."""
    parser.addoption("--waves", action="store_true", help="write a waveform of every simulation")
    parser.addoption(
        "--case",
        default="",
        metavar="REGEX",
        help="run only these cocotb tests, of all simulations; it is searched for in MODULE.NAME",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main() -> None:
    """Refuse a Python that leaves out assertions."""
    if sys.flags.optimize:
        raise pytest.UsageError(
            "Python leaves assertions out, which check results: unset PYTHONOPTIMIZE, omit -O"
        )


def pytest_configure(config: pytest.Config) -> None:
    """Tell the simulations of all processes what was chosen."""
    # xdist's workers are born later and inherit the environment.
    if not hasattr(config, "workerinput"):
        # Tests simulate briefly: what a better compiled simulator saves is less than it costs.
        os.environ.setdefault("INGATHER_OPTIMISE", "0")
        os.environ["INGATHER_WAVES"] = "1" if config.getoption("--waves") else ""
        os.environ["INGATHER_CASE"] = str(config.getoption("--case"))
        os.environ["INGATHER_TALLY"] = tempfile.mkstemp(prefix="ingather-tally-")[1]


def pytest_collection_finish() -> None:
    """Look for garbage seldom, and not in what is imported: it takes up to a fifth of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the file in which workers count simulations."""
    if not hasattr(config, "workerinput"):
        Path(os.environ.pop("INGATHER_TALLY")).unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many simulators were built, and how many found in the cache."""
    lines = Path(os.environ["INGATHER_TALLY"]).read_text().splitlines()
    counts = Counter(line.split()[0] for line in lines)
    seconds = sum(float(line.split()[2]) for line in lines if line.startswith("built"))
    if counts:
        terminalreporter.write_line(
            f"{counts['built']} simulations built in {seconds:.0f} s, {counts['found']} from cache"
        )


@pytest.fixture
def seed() -> int:
    """Return the seed of this item; it is printed with a failing test."""
    print(f"seed {os.environ['INGATHER_SEED']}")
    return int(os.environ["INGATHER_SEED"])


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Return a random generator of NumPy, seeded for this item."""
    return np.random.default_rng(seed)
