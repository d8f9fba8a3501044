from importlib import import_module
from types import SimpleNamespace

from sim.verify import plugin
from sim.verify.order import UNKNOWN_SECONDS, longest_first, read_durations, write_durations
from tests import conftest


def item(nodeid):
    return SimpleNamespace(nodeid=nodeid)


def test_longest_first_by_all_of_a_group():
    groups = {name: [item(name)] for name in ("short", "unknown", "long[seed=3]", "equal")}
    groups["shared"] = [item("part"), item("part[seed=2]")]
    seconds = {
        "short": 1,
        "long": 10 * UNKNOWN_SECONDS,
        "equal": UNKNOWN_SECONDS,
        "part": 4 * UNKNOWN_SECONDS,
    }
    ordered = [member.nodeid for group in longest_first(groups, seconds) for member in group]
    assert ordered == ["long[seed=3]", "part", "part[seed=2]", "unknown", "equal", "short"]


def test_durations_are_added_to(tmp_path):
    file = tmp_path / "new" / "durations.json"
    assert read_durations(file) == {}
    write_durations(file, {"a": 1.234, "b": 2})
    write_durations(file, {"b": 3})
    assert read_durations(file) == {"a": 1.23, "b": 3}
    assert [path.name for path in file.parent.iterdir()] == ["durations.json"]


def test_damaged_durations_are_none(tmp_path):
    for text in ("{", "[1]", '{"a": null}'):
        (tmp_path / "file").write_text(text)
        assert read_durations(tmp_path / "file") == {}


def test_the_suite_has_it_and_it_has_its_parts():
    assert conftest.pytest_plugins == ["sim.verify.plugin"]
    for name in plugin.pytest_plugins:
        assert any(hook.startswith("pytest_") for hook in vars(import_module(name)))


def test_options_are_known(pytestconfig):
    assert pytestconfig.getoption("--seeds") >= 1
    assert pytestconfig.getoption("--seed")
    assert pytestconfig.getoption("--durations-file", "none") != "none"
