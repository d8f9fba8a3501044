"""Chooses, as pytest's plugin for a short run on another seed, one size of each test that
simulates.

The seed draws the size, so that in the course of time every size runs on many seeds. ``make test``
runs it over ``tests/hdl``, the components by themselves, after everything has run on seed 1: the
simulators are in the cache by then, so that only simulating takes time.
"""

import random

import pytest

from sim.verify.seeds import MARK, seed_of


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --one-size."""
    parser.addoption(
        "--one-size",
        action="store_true",
        help="run only what simulates, and of each test the one size that --seed draws",
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say that one size of each test is run, not all."""
    return ["of each test that simulates, one size"] if config.getoption("--one-size") else []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all but one item of every function."""
    if not config.getoption("--one-size"):
        return
    sizes: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker(MARK):
            sizes.setdefault(item.nodeid.partition("[")[0], []).append(item)
    drawn = [
        random.Random(f"{seed_of(result[0])} {function}").choice(result)
        for function, result in sizes.items()
    ]
    stored = set(map(id, drawn))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in stored])
    items[:] = drawn
