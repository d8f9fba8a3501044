"""Writes a sweep as a table into a file."""

import csv
import os

import pytest
from matplotlib.axes import Axes

from gen.base.errors import UserError
from gen.sweep import fronts
from gen.sweep.export import columns, export, of_one_type, writer_for
from tests.gen.report import sample

NAMES = [
    *("design", "engines", "engine.banks", "l2", "bits", "data", "status"),
    *("cycles", "samples_per_second", "lut", "error", "seconds", "attempts", "key"),
]


def test_a_column_for_each_name():
    table = columns(sample.grid())
    assert list(table) == NAMES
    assert {len(values) for values in table.values()} == {12}
    assert table["status"][:3] == ["done", "failed", "waiting"]
    assert table["lut"][:3] == [9000.0, None, None]
    assert table["error"][1].startswith("engines of 3")


def test_metrics_that_are_requested():
    assert list(columns(sample.grid(), ["lut", "cycles"])) == [
        *(name for name in NAMES[:7]),
        *("lut", "cycles", "error", "seconds", "attempts", "key"),
    ]


def test_names_that_are_there_before():
    point = sample.point(1, 2, metrics={"bits": 5.0}, workload={"bits": 2, "status": "x"})
    table = columns([point])
    assert table["bits"] == [2]
    assert table["metric.bits"] == [5.0]
    assert table["status"] == ["x"]
    assert table["status.status"] == ["done"]


def test_csv(tmp_path):
    points = [*sample.grid(), sample.point(9, 9, "failed", error='says "no",\nthen ends')]
    export(points, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == NAMES
    assert (rows[0]["engines"], rows[0]["cycles"], rows[1]["cycles"]) == ("1", "1100.0", "")
    assert rows[12]["error"] == 'says "no",\nthen ends'
    assert os.listdir(tmp_path) == ["a.csv"]


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export(sample.grid(), tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert table == columns(sample.grid())
    first = (tmp_path / "a.parquet").read_bytes()
    export(sample.grid(), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == first


def test_columns_of_several_types():
    assert of_one_type([1, 2.5, None]) == [1.0, 2.5, None]
    assert of_one_type([1, "a", None, True]) == ["1", "a", None, "True"]
    assert of_one_type([True, None]) == [True, None]


def test_no_points(tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("a.csv", "a.parquet"):
        export([], tmp_path / name)
        assert (tmp_path / name).is_file()


def test_what_cannot_be_written(tmp_path):
    for name, words in (("a.xlsx", r"end in one of \.csv, \.parquet"), ("a", "end in one of")):
        with pytest.raises(UserError, match=words):
            writer_for(tmp_path / name)
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        writer_for(tmp_path / "b.csv")
    (tmp_path / "file").write_text("")
    for folder in ("file", "new"):
        with pytest.raises(UserError, match=f"cannot write .*: there is no folder .*{folder}$"):
            export([], tmp_path / folder / "a.csv")
    assert not (tmp_path / "new").exists()


def test_what_was_there_stays_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("before")
    monkeypatch.setattr("gen.sweep.export.csv.writer", lambda *_, **__: full())
    with pytest.raises(UserError, match=r"cannot write .*a\.csv: No space left"):
        export(sample.grid(), path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.csv"]


def full():
    raise OSError(28, "No space left on device")


def test_pyarrow_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"ingather\[sweep\]"):
        export(sample.grid(), tmp_path / "a.parquet")
    assert os.listdir(tmp_path) == []


SIZED = {
    "design": ["x"] * 5,
    "engines": [1, 1, 2, 2, 2],
    "banks": [4, 8, 4, 8, 8],
    "lanes": [128, 64, 128, 64, 64],
    "bits": [2, 2, 2, 2, 4],
    "status": ["done"] * 4 + ["failed"],
    "cycles": [100.0, 90.0, 60.0, 50.0, None],
    "luts": [10.0, 20.0, 10.0, 40.0, None],
    "dsp": [0.0, 0.0, 0.0, 0.0, None],
    "metric.uram": [5.0, 6.0, 5.0, 6.0, None],
    "error": [None] * 5,
}


def test_settings_that_follow_from_others_have_no_marker_of_their_own():
    assert fronts.metrics_of(SIZED) == ["cycles", "luts", "dsp", "metric.uram"]
    assert fronts.free_settings(SIZED) == ["engines", "banks", "bits"]


def test_the_front_has_what_nothing_beats():
    assert fronts.front([(10, 100), (20, 90), (10, 60), (40, 50), (50, 50)]) == [(10, 60), (40, 50)]


def test_picture(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Axes, "scatter", lambda _, *at, **__: drawn.append(at))
    fronts.write_png(SIZED, tmp_path / "a.png")
    assert [at for at in drawn if at[0] != []] == [
        *[(10, 100), (20, 90), (10, 60), (40, 50)],
        *[(5, 100), (6, 90), (5, 60), (6, 50)],
    ]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match="a picture needs a metric and sizes: luts"):
        export(sample.grid(), tmp_path / "b.png")
    assert os.listdir(tmp_path) == ["a.png"]
