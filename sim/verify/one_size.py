"""Chooses, as pytest's plugin for other seeds, one size of each test that simulates.

The seed draws the size, so that in the course of time every size runs on many seeds. With
``--drawn-seed`` one size of each test of a component runs on a seed of its own while all else
runs on the session's, and other sizes of all tests are left out as long ones are. Sizes are
parameters of the hardware, and numbers; what else a test is parametrised by makes another kind of
it, which runs in any case, in one size. Tests of one file draw alike, so that they share
simulators. ``make test`` does so, with a seed that the commit draws.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from typing import Any

import pytest

from sim.verify.long import LONG
from sim.verify.seeds import MARK, OWN_SEED, seed_of, shares_a_simulation

COMPONENTS = "tests/hdl/"  #: where tests of components by themselves are
SIZES = ("params", "size")  #: names of parameters of tests that are their components'
#: marks tests of which every commit runs each size: there are mistakes that one of them alone finds
EACH = "each_size"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options --one-size and --drawn-seed."""
    parser.addoption(
        "--one-size",
        action="store_true",
        help="run only what simulates, and of each test the one size that --seed draws",
    )
    parser.addoption(
        "--drawn-seed",
        type=int,
        metavar="SEED",
        help="run of each test of a component the one size that this seed draws, on this seed",
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what runs in one size alone, and what runs on another seed."""
    lines = ["of each test that simulates, one size"] if config.getoption("--one-size") else []
    if (seed := config.getoption("--drawn-seed")) is not None:
        lines.append(f"of each test in {COMPONENTS} that simulates, one size has seed {seed}")
    return lines


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all but one item of every function, or give one a seed of its own."""
    simulating = [
        item
        for item in items
        if isinstance(item, pytest.Function) and item.get_closest_marker(MARK)
    ]
    if (seed := config.getoption("--drawn-seed")) is not None:
        draw(items, [item for item in simulating if not shares_a_simulation(item)], seed)
    if config.getoption("--one-size") and simulating:
        chosen = drawn(simulating, seed_of(simulating[0]))
        stored = set(map(id, chosen))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in stored])
        items[:] = chosen


def draw(items: list[pytest.Item], simulating: list[pytest.Function], seed: int) -> None:
    """Let one size of each component's test run on ``seed``; leave out sizes of all tests."""
    for item in drawn([i for i in simulating if i.nodeid.startswith(COMPONENTS)], seed):
        item.stash[OWN_SEED] = seed
    if not simulating or simulating[0].config.getoption("--all"):
        return
    sized = [item for item in simulating if not item.get_closest_marker(EACH)]
    left = set(sized).difference(drawn(sized, seed, kind_of))
    for item in left:
        item.add_marker(LONG)
    if left:
        simulating[0].config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


def function_of(item: pytest.Function) -> str:
    """Return the test's name, which all its items have in common."""
    return item.nodeid.partition("[")[0]


def kind_of(item: pytest.Function) -> str:
    """Return what the items of a test have in common that differ in their sizes alone."""
    values = item.callspec.params if hasattr(item, "callspec") else {}
    kinds = [f"{name} {value}" for name, value in values.items() if not is_size(name, value)]
    return " ".join([function_of(item), *kinds])


def is_size(name: str, value: Any) -> bool:
    """Return whether a parameter of a test is a size: another commit may run another."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return name in SIZES or number or is_dataclass(value)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of tests that run in each size."""
    config.addinivalue_line("markers", f"{EACH}: --drawn-seed leaves out no size of it")


def drawn(
    items: Iterable[pytest.Function],
    seed: int,
    group: Callable[[pytest.Function], str] = function_of,
) -> list[pytest.Function]:
    """Return of each group of ``items`` the one that ``seed`` draws, at equal places in a file."""
    groups: dict[str, list[pytest.Function]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    return [
        many[int(random.Random(f"{seed} {many[0].path.name}").random() * len(many))]
        for many in groups.values()
    ]
