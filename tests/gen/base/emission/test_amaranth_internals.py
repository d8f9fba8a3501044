"""Checks what emission relies on in Amaranth, and what another version would change."""

import re
from pathlib import Path

import amaranth
import pytest
from amaranth.hdl import _ir

from gen.base.emission.amaranth_internals import VERSION, changed

ROOT = Path(__file__).parents[4]


def test_amaranth_is_the_version_that_was_read():
    assert amaranth.__version__ == VERSION
    assert f'"amaranth=={VERSION}"' in (ROOT / "pyproject.toml").read_text()
    assert f"\namaranth=={VERSION}\n" in (ROOT / "requirements.lock").read_text()


def test_nothing_that_is_relied_on_has_changed():
    assert list(changed()) == []


def test_what_is_gone_and_what_has_changed_is_named(monkeypatch):
    monkeypatch.delattr(_ir, "_add_name")
    monkeypatch.setattr(_ir.Design, "_assign_names", lambda design, fragment: None)
    other, gone = changed()
    assert re.fullmatch(r"is gone: amaranth\.hdl\._ir\._add_name \(here: .*\)", gone)
    assert other.startswith(f"reads otherwise than in Amaranth {VERSION}: amaranth.hdl._ir.Design")


@pytest.mark.parametrize("folder", ["gen", "hdl", "sim"])
def test_private_names_of_amaranth_are_taken_in_one_place(folder):
    private = re.compile(
        r"^ *(from|import) amaranth[.\w]*\.(_|back)|^ *from amaranth\.hdl import .*\b_", re.M
    )
    users = [
        path.name for path in (ROOT / folder).rglob("*.py") if private.search(path.read_text())
    ]
    assert users == (["amaranth_internals.py"] if folder == "gen" else [])
