"""Chooses, as pytest's plugin for other seeds, one size of each test that simulates.

The seed draws the size, so that in the course of time every size runs on many seeds. With
``--drawn-seed`` that size of each test of a component runs on a seed of its own while all else
runs on the session's; where its items differ in nothing but the component's parameters, the others
are left out as long ones are. ``make test`` does so, with a seed that the commit draws.
"""

import random
from collections.abc import Iterable

import pytest

from sim.verify.long import LONG
from sim.verify.seeds import MARK, OWN_SEED, seed_of, shares_a_simulation

COMPONENTS = "tests/hdl/"  #: where tests of components by themselves are
SIZE = "params"  #: name of a test's parameter that is its component's
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
        own = [i for i in simulating if i.nodeid.startswith(COMPONENTS)]
        draw(items, [item for item in own if not shares_a_simulation(item)], seed)
    if config.getoption("--one-size") and simulating:
        chosen = drawn(simulating, seed_of(simulating[0]))
        stored = set(map(id, chosen))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in stored])
        items[:] = chosen


def draw(items: list[pytest.Item], components: list[pytest.Function], seed: int) -> None:
    """Let one size of each test of ``components`` run on ``seed``; leave out its further sizes."""
    chosen = drawn(components, seed)
    for item in chosen:
        item.stash[OWN_SEED] = seed
    if not components or components[0].config.getoption("--all"):
        return
    left = {item for item in components if is_size(item)}.difference(chosen)
    for item in left:
        item.add_marker(LONG)
    if left:
        components[0].config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


def is_size(item: pytest.Function) -> bool:
    """Return whether another commit may run ``item``: its only parameter is its component's."""
    only = hasattr(item, "callspec") and set(item.callspec.params) == {SIZE}
    return only and not item.get_closest_marker(EACH)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of tests that run in each size."""
    config.addinivalue_line("markers", f"{EACH}: --drawn-seed leaves out no size of it")


def drawn(items: Iterable[pytest.Function], seed: int) -> list[pytest.Function]:
    """Return the item of every function of ``items`` that ``seed`` draws."""
    sizes: dict[str, list[pytest.Function]] = {}
    for item in items:
        sizes.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [random.Random(f"{seed} {name}").choice(many) for name, many in sizes.items()]
