"""Tests what is shown while something goes on, without a terminal."""

import io
import time

from rich.console import Console

from gen.output import consoles
from gen.output.consoles import waiting


def shown(seconds, monkeypatch, change=""):
    monkeypatch.setattr(consoles, "FIRST", 0.02 if seconds else 60)
    out = io.StringIO()
    with waiting(Console(file=out), "building", seconds=0.02) as update:
        time.sleep(seconds / 2)
        update(change or "building")
        time.sleep(seconds / 2)
    return out.getvalue().splitlines()


def test_lines_come_until_it_has_ended(monkeypatch):
    lines = shown(0.5, monkeypatch, "linking")
    assert lines[0] == "building ... 0 s"
    assert lines[-1].startswith("linking ... ")


def test_what_ends_at_once_says_nothing(monkeypatch):
    assert shown(0, monkeypatch) == []
