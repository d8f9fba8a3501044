"""Tests what is shown while something goes on, without a terminal."""

import io
import time

from rich.console import Console

from gen.output import consoles
from gen.output.consoles import Console as OwnConsole
from gen.output.consoles import bar, waiting


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


def test_names_are_printed_as_they_are_in_one_line():
    name, out = f"data[bold] [/k] {'x' * 200}", io.StringIO()
    console = OwnConsole(file=out, force_terminal=True)
    console.print(f"wrote {name}")
    with waiting(console, name) as update:
        update(name)
    with bar(console) as progress:
        progress.add_task(name)
    assert out.getvalue().startswith(f"wrote {name}\n")
    assert out.getvalue().count("[/k]") >= 3
