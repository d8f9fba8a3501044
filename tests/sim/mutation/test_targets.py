import re
from pathlib import Path

from sim.harness.cache import CHECKOUT
from sim.mutation.targets import ELSEWHERE, all_targets, is_called, mirrors_of, shown


def test_every_component_has_tests():
    targets = all_targets()
    assert {"hdl.common.fifo.Fifo", "hdl.switch.egress.EgressPort"} <= targets.keys()
    for name, target in targets.items():
        assert target.tests, name
        assert all(test.is_file() for test in target.tests), name
        assert target.name == name


def test_tests_are_the_mirror_unless_they_are_elsewhere():
    assert list(map(shown, mirrors_of(CHECKOUT / "hdl/common/fifo.py"))) == [
        "tests/hdl/common/test_fifo.py"
    ]
    assert mirrors_of(CHECKOUT / "hdl/common/component.py") == ()
    for source, tests in ELSEWHERE.items():
        assert (CHECKOUT / source).is_file()
        mirror = CHECKOUT / "tests" / Path(source).with_name(f"test_{Path(source).name}")
        result = mirrors_of(CHECKOUT / source)
        simulates = mirror.exists() and re.search("simulated?[(]", mirror.read_text())
        assert not simulates or mirror in result
        assert len(result) == len(tests)


def test_names():
    name = "hdl.common.fifo.Fifo"
    assert all(is_called(name, part) for part in (name, "Fifo", "hdl.common", "hdl.common.fifo"))
    assert not any(is_called(name, part) for part in ("hdl.com", "fifo", "hdl.p4sgd"))


def test_key_changes_with_tests_and_judges(monkeypatch):
    targets = all_targets()
    fifo = targets["hdl.common.fifo.Fifo"]
    assert fifo.key == all_targets()["hdl.common.fifo.Fifo"].key
    assert fifo.key != targets["hdl.common.streams.Fork"].key
    read: list[str] = []
    monkeypatch.setattr("sim.mutation.targets.digest_of", lambda names: read.extend(names) or "")
    assert fifo.key
    assert {"tests.hdl.common.test_fifo", "sim.mutation.campaign"} < {*read}
