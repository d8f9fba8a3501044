from importlib import import_module

from sim.verify import plugin
from tests import conftest


def test_the_suite_has_it_and_it_has_its_parts():
    assert conftest.pytest_plugins == ["sim.verify.plugin"]
    for name in plugin.pytest_plugins:
        assert any(hook.startswith("pytest_") for hook in vars(import_module(name)))


def test_options_are_known(pytestconfig):
    assert pytestconfig.getoption("--seeds") >= 1
    assert pytestconfig.getoption("--seed")
    assert pytestconfig.getoption("--durations-file", "none") != "none"
