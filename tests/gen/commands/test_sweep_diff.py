"""Runs ``ingather sweep diff`` and ``ingather sweep export``."""

import json

import pytest
import typer

from gen.base.errors import UserError
from gen.commands.sweep_diff import ROWS, diff, figure
from gen.commands.sweep_export import export
from tests.gen.report import sample


@pytest.fixture
def files(tmp_path):
    changed = [sample.point(1, bits, metrics={"cycles": 1000.0 + bits}) for bits in (1, 2)]
    before = [sample.point(1, bits, metrics={"cycles": 1000.0}) for bits in (1, 2)]
    return (
        sample.write_sweep(tmp_path / "before.sqlite", before),
        sample.write_sweep(tmp_path / "after.sqlite", changed),
    )


def status_of(*args, **options):
    try:
        diff(*args, **options)
    except typer.Exit as done:
        return done.exit_code
    return 0


def test_a_table_of_what_differs(files, capsys):
    assert status_of(*files) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["bits", "metric", "A", "B", "B", "-", "A", "%"]
    assert lines[1] == ["2", "cycles", "1,000", "1,002", "2", "+0.2"]
    assert lines[2] == ["1", "cycles", "1,000", "1,001", "1", "+0.1"]
    assert lines[3] == ["points", "in", "both:", "2;", "of", "them", "differ:", "2"]


def test_a_threshold(files, capsys):
    assert status_of(*files, threshold=0.0015) == 1
    assert "of them differ: 1\n" in capsys.readouterr().out
    assert status_of(*files, threshold=0.002) == 0
    assert status_of(files[0], files[0]) == 0


def test_points_that_only_one_has(files, tmp_path, capsys):
    more = [sample.point(1, bits, metrics={"cycles": 1000.0}) for bits in (1, 2, 4)]
    other = sample.write_sweep(tmp_path / "more.sqlite", more)
    assert status_of(files[0], other) == 1
    out = capsys.readouterr().out
    assert "points only in B: 1, such as bits=4\n" in out
    assert status_of(files[0], other, common=True) == 0
    assert status_of(files[1], other, common=True) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("done", "done"),
        (1234567.0, "1,234,567"),
        (0.125, "0.125"),
        (12345.678, "12,345.7"),
    ],
)
def test_figures(value, shown):
    assert figure(value) == shown


def test_a_single_point_is_reported_in_full(tmp_path, capsys):
    item = sample.write_sweep(tmp_path / "one.sqlite", [sample.point(1, 2)])
    empty = sample.write_sweep(tmp_path / "none.sqlite", [])
    assert status_of(item, empty) == 1
    assert "points only in A: 1, such as engines=1, engine.banks=8" in capsys.readouterr().out


def test_json(files, tmp_path, capsys):
    assert status_of(*files, json_file=str(tmp_path / "a.json")) == 1
    assert len(json.loads((tmp_path / "a.json").read_text())["changes"]) == 2
    capsys.readouterr()
    status_of(*files, json_file="-")
    assert json.loads(capsys.readouterr().out)["common"] == 2


def test_many_changes_are_cut(tmp_path, capsys):
    def written(name, cycles):
        points = [sample.point(1, b, metrics={"cycles": cycles}) for b in range(ROWS + 5)]
        return sample.write_sweep(tmp_path / name, points)

    status_of(written("a.sqlite", 1.0), written("b.sqlite", 2.0))
    out = capsys.readouterr().out
    assert "and 5 more" in out
    assert f"of them differ: {ROWS + 5}\n" in out


def test_a_file_that_is_no_sweep(files, tmp_path):
    (tmp_path / "text.sqlite").write_text("text")
    with pytest.raises(UserError, match="is no SQLite file"):
        diff(files[0], tmp_path / "text.sqlite")
    with pytest.raises(UserError, match="there is no folder"):
        diff(*files, json_file=str(tmp_path / "missing/a.json"))


def test_where_it_wrote(tmp_path, capsys):
    path = sample.write_sweep(tmp_path / "a.sqlite", sample.grid())
    export(path, tmp_path / "a.csv")
    assert capsys.readouterr().out == f"wrote {tmp_path / 'a.csv'}: 12 points\n"
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 13
    points = [
        sample.point(1, 2, metrics={"cycles": 5.0, "luts": 2.0}),
        sample.point(1, 4, "failed"),
    ]
    export(sample.write_sweep(tmp_path / "b.sqlite", points), tmp_path / "b.png")
    assert capsys.readouterr().out == f"wrote {tmp_path / 'b.png'}: 1 of 2 points\n"


def test_the_name_is_checked_before_the_sweep_is_read(tmp_path):
    with pytest.raises(UserError, match="end in one of"):
        export(tmp_path / "missing.sqlite", tmp_path / "a.txt")
    with pytest.raises(UserError, match="cannot read"):
        export(tmp_path / "missing.sqlite", tmp_path / "a.csv")
