"""Seeds tests, as pytest's plugin: one item per test, parameters and seed, each replayable."""

import os
import random
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from sim.verify.items import name_of, seed_in
from sim.verify.simulating import simulates

DEFAULT_SEED = 1
SEED = "INGATHER_SEED"  #: environment: what simulations of this process start from
FIXTURE = "item_seed"
REPLAY = "replay: pytest "
MARK = "simulates"
SHARED = ("class", "module", "package", "session")  #: scopes of fixtures that run once for many
SEEDS = pytest.StashKey[list[int]]()
OWN_SEED = pytest.StashKey[int]()  #: of an item that runs on another seed than its session


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options --seed and --seeds."""
    parser.addoption(
        "--seed",
        default=str(DEFAULT_SEED),
        type=checked_seed,
        help=f"seed random choices with this number, or 'random'; {DEFAULT_SEED} if not given",
    )
    parser.addoption(
        "--seeds",
        default=1,
        type=int,
        metavar="N",
        help="run what simulates on N seeds, counted from --seed",
    )


def checked_seed(text: str) -> str:
    """Return ``text`` if it is a seed; raise ValueError if not."""
    if text != "random" and not 0 <= int(text) < 1 << 31:
        raise ValueError(f"not a seed: {text}")
    return text


def seeds_from(text: str, count: int) -> list[int]:
    """Return ``count`` seeds, from the one that is named or from one that is drawn."""
    first = random.SystemRandom().randrange(1 << 30) if text == "random" else int(text)
    return [first + index for index in range(count)]


def pytest_configure(config: pytest.Config) -> None:
    """Settle the session's seeds, of which workers hear by the environment."""
    config.addinivalue_line("markers", f"{MARK}: it simulates hardware (found, not written)")
    if not hasattr(config, "workerinput"):
        os.environ[SEED] = str(seeds_from(str(config.getoption("--seed")), 1)[0])
    config.stash[SEEDS] = seeds_from(os.environ[SEED], int(config.getoption("--seeds") or 1))


def pytest_report_header(config: pytest.Config) -> str:
    """Print the session's seeds."""
    return f"seed: {', '.join(map(str, config.stash[SEEDS]))} (replay with --seed)"


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make an item for each seed of a test that simulates."""
    seeds = metafunc.config.stash[SEEDS]
    if len(seeds) > 1 and varies(metafunc):
        metafunc.fixturenames.append(FIXTURE)
        metafunc.parametrize(FIXTURE, seeds, indirect=True, ids=[f"seed={seed}" for seed in seeds])


def varies(metafunc: pytest.Metafunc) -> bool:
    """Return whether another seed changes a test: it simulates, itself or by an item's fixture."""
    fixtures = [f for many in metafunc._arg2fixturedefs.values() for f in many]
    shared = [fixture.func for fixture in fixtures if fixture.scope in SHARED]
    own = [fixture.func for fixture in fixtures if fixture.scope not in SHARED]
    return any(map(simulates, [metafunc.function, *own])) and not any(map(simulates, shared))


@pytest.fixture(name=FIXTURE)
def item_seed(request: pytest.FixtureRequest) -> int:
    """Return the item's seed; it is set before any fixture, and gives the item its name."""
    return request.param


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the items that simulate."""
    for item in items:
        if isinstance(item, pytest.Function) and any(map(simulates, functions_of(item))):
            item.add_marker(MARK)


def functions_of(item: pytest.Function) -> list[Any]:
    """Return the test's function and those of its fixtures."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return [item.function, *(fixture.func for many in fixtures for fixture in many)]


def seed_of(item: pytest.Item) -> int:
    """Return the seed that ``item`` runs on."""
    named = seed_in(item.nodeid)
    return item.stash.get(OWN_SEED, item.config.stash[SEEDS][0]) if named is None else named


def shares_a_simulation(item: pytest.Function) -> bool:
    """Return whether ``item`` has a fixture that simulates for several items."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return any(f.scope in SHARED and simulates(f.func) for many in fixtures for f in many)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Set the item's seed for all that it does."""
    seed = seed_of(item)
    os.environ[SEED] = str(seed)
    seed_hypothesis(item, seed)
    try:
        return (yield)
    finally:
        os.environ[SEED] = str(item.config.stash[SEEDS][0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Add to a failure how to replay it, unless the simulation has done so."""
    report = yield
    if report.failed and REPLAY not in report.longreprtext:
        command = f"{REPLAY}{shlex.quote(name_of(item.nodeid))} --seed {seed_of(item)}"
        report.sections.append(("replay", command))
    return report


def seed_hypothesis(item: pytest.Item, seed: int) -> None:
    """Let Hypothesis draw the same examples for the same seed."""
    function: Any = getattr(item, "function", None)
    if not getattr(function, "is_hypothesis_test", False):
        return
    import hypothesis

    hypothesis.seed(seed)(function)
