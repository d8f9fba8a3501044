"""Tests which modules of tests are imported before a simulation, and when they are too old."""

import sys

import pytest

from sim.harness import preload


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a checkout that has no files yet, instead of this one."""
    monkeypatch.setattr(preload, "CHECKOUT", tmp_path)
    monkeypatch.setattr(preload, "_stamps", {})
    monkeypatch.setattr(preload, "rewrite", lambda patterns: None)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [
        n for n, m in sys.modules.items() if str(tmp_path) in str(vars(m).get("__file__"))
    ]:
        del sys.modules[name]


def test_modules_of_the_checkout_are_imported_until_they_change(checkout):
    (checkout / "the_helper.py").write_text("VALUE = 1\n")
    (checkout / "the_tests.py").write_text("from the_helper import VALUE\n")
    assert preload.preload(["the_tests"], "")
    assert sys.modules["the_tests"].VALUE == 1
    assert not preload.stale()
    (checkout / "the_helper.py").write_text("VALUE = 20\n")
    assert preload.stale()
    (checkout / "the_helper.py").unlink()
    assert preload.stale()


def test_what_is_not_of_the_checkout_is_left_alone(checkout):
    assert not preload.preload(["json.tool"], "")
    assert not preload.preload(["nothing.of.that.name"], "")
    assert "json.tool" not in sys.modules


@pytest.mark.parametrize("text", ["import no_such_module", "raise SystemExit(3)", "1 +"])
def test_what_cannot_be_imported_is_left_to_the_simulation(checkout, text):
    (checkout / "the_tests.py").write_text(text)
    assert not preload.preload(["the_tests"], "")
    assert not preload.stale()
