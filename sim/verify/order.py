"""Orders, as pytest's plugin, items by length: the longest first, so that workers end together."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sim.verify.items import name_of
from sim.verify.seeds import SHARED
from sim.verify.simulating import simulates

UNKNOWN_SECONDS = 5.0  #: time that is expected of an item that has never run


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --durations-file."""
    parser.addoption(
        "--durations-file",
        type=Path,
        metavar="FILE",
        help="run the longest tests first, by the seconds in FILE; keep a fixture's tests together",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest items first."""
    file = config.getoption("--durations-file")
    if file is None:
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(group_of(item), []).append(item)
    seconds = read_durations(file)
    items[:] = [item for group in longest_first(groups, seconds) for item in group]


def group_of(item: pytest.Item) -> str:
    """Return a name shared by items that one simulation serves, or else the item's own."""
    if isinstance(item, pytest.Function):
        for name, fixtures in sorted(item._fixtureinfo.name2fixturedefs.items()):
            if any(fixture.scope in SHARED and simulates(fixture.func) for fixture in fixtures):
                return f"{item.nodeid.partition('::')[0]} {name}"
    return item.nodeid


def longest_first(
    groups: Mapping[str, list[pytest.Item]], seconds: Mapping[str, float]
) -> list[list[pytest.Item]]:
    """Sort groups by the time that they took, the longest first; ties keep their order."""

    def expected(group: list[pytest.Item]) -> float:
        return sum(seconds.get(name_of(item.nodeid), UNKNOWN_SECONDS) for item in group)

    return sorted(groups.values(), key=expected, reverse=True)


def read_durations(file: Path) -> dict[str, float]:
    """Return seconds by test, as :func:`write_durations` wrote them; none without a file."""
    try:
        result = json.loads(file.read_text())
        return {str(test): float(seconds) for test, seconds in result.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_durations(file: Path, seconds: Mapping[str, float]) -> None:
    """Add ``seconds`` to ``file``, in place of what it says of the same tests."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.new")
    known = {**read_durations(file), **{test: round(s, 2) for test, s in seconds.items()}}
    new.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")
    new.replace(file)
