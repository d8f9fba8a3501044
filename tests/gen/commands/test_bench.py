"""Tests the table, and the exit status of ``make bench``."""

import json

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gen.commands import bench
from gen.designs.design import Bench, load
from sim.bench.limits import Limit, Row

GOOD = Row(what="good", value=1.5, unit="GB/s", limit=Limit(2))
BAD = Row(what="bad", value=2500, unit="GB/s", limit=Limit(2), note="the reason")
FREE = Row(what="free", value=1e9)


@pytest.fixture
def run(monkeypatch):
    """Run the bench on rows by part; nothing is measured."""
    app = typer.Typer()
    app.command()(bench.bench)

    def run(parts, *arguments):
        known = {part: (None, Bench(title=part, rows="")) for part in parts}
        monkeypatch.setattr(bench, "parts", lambda: known)
        monkeypatch.setattr(bench, "measure", lambda part, progress: parts[part])
        return CliRunner().invoke(app, arguments)

    return run


def test_every_part_can_be_imported():
    for design, part in bench.parts().values():
        assert callable(load(part.rows))
        assert not part.preset or (design and part.preset in design.presets)


def test_a_part_of_a_paper_is_of_no_design():
    design, part = bench.parts()["switchgnn-plan"]
    assert design is None
    assert not part.preset


def test_no_limit_is_on_what_others_slow_down():
    with pytest.raises(ValueError, match="a limit is on s of CPU"):
        Row(what="time", value=1, unit="s", limit=Limit(2))


def test_all_marks_hold(run):
    result = run({"one": [GOOD, FREE], "two": [GOOD]})
    assert result.exit_code == 0
    assert "2 of 2 limits are kept" in result.output


def test_one_mark_does_not(run):
    result = run({"one": [GOOD], "two": [FREE, BAD]})
    assert result.exit_code == 1
    assert "two: bad: 2,500 GB/s is not at most 2 GB/s" in result.output
    assert "1 of 2 limits are kept" in result.output


def test_one_part_alone(run):
    result = run({"one": [GOOD], "two": [BAD]}, "--only", "one")
    assert result.exit_code == 0
    assert "bad" not in result.output


def test_unknown_part(run):
    result = run({"one": [GOOD]}, "--only", "three")
    assert result.exit_code == 2
    assert "no such part: three" in result.output


def test_json(run, tmp_path):
    file = tmp_path / "deep" / "bench.json"
    run({"one": [GOOD, BAD]}, "--json", str(file))
    good, bad = json.loads(file.read_text())["one"]
    assert good["holds"]
    assert not bad["holds"]
    assert bad["limit"] == {"bound": 2, "at_least": False}


def test_table_shows_what_holds():
    console = Console(width=120)
    with console.capture() as capture:
        console.print(bench.table("title", [GOOD, BAD, FREE]))
    lines = [line.split("│") for line in capture.get().splitlines() if "│" in line]
    shown = {line[1].strip(): [cell.strip() for cell in line[2:-1]] for line in lines}
    assert shown["good"] == ["1.5 GB/s", "at most 2 GB/s", "yes", ""]
    assert shown["bad"] == ["2,500 GB/s", "at most 2 GB/s", "NO", "the reason"]
    assert shown["free"] == ["1,000,000,000", "", "", ""]
