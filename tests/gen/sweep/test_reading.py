"""Reads a sweep's file, and refuses what is none."""

import pytest

from gen.base.errors import UserError
from gen.sweep.reading import bound_settings, read_results, settings_of
from gen.sweep.store import Store
from tests.gen.report import sample


def test_specification_and_points(tmp_path):
    path = sample.write_sweep(tmp_path / "a.sqlite", sample.grid())
    results = read_results(path)
    assert results.spec == sample.SPEC
    assert len(results.points) == 12
    assert results.points[0].metrics["cycles"] == 1100


def test_while_another_process_writes(tmp_path):
    path = sample.write_sweep(tmp_path / "a.sqlite", sample.grid())
    with Store.writing(path) as store, store.transaction():
        store.failed("1-1", "too late to be read")
        assert read_results(path).points[0].status == "done"


FILES = {
    "empty": (b"", "is empty"),
    "text": (b"engines,bits\n1,2\n", "is no SQLite file"),
    "cut": (b"SQLite format 3\0" + bytes(500), "is not the results of a sweep"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_sweep(tmp_path, name):
    content, words = FILES[name]
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words):
        read_results(path)


def test_pages_that_are_damaged(tmp_path):
    path = sample.write_sweep(tmp_path / "a.sqlite", [sample.point(1, b) for b in range(99)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-8192] + bytes(8192))
    with pytest.raises(UserError, match=r"a\.sqlite is damaged: "):
        read_results(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(UserError, match="is a folder"):
        read_results(tmp_path)
    with pytest.raises(UserError, match="cannot read"):
        read_results(tmp_path / "missing")


def test_settings_that_have_one_name():
    point = sample.point(4, 2, workload={"engines": 7, "bits": 2})
    assert settings_of(point) == {
        "engines": 4,
        "engine.banks": 8,
        "l2": False,
        "workload.engines": 7,
        "bits": 2,
    }


@pytest.mark.parametrize(
    ("spec", "bound"),
    [
        ({}, set()),
        ({"derive": {"engine": {"banks": "512 / lanes"}}}, {"engine.banks"}),
        ({"derive": {"banks": "512 / lanes", "l2": "1"}}, {"engine.banks"}),
        ({"zip": {"engines": [1, 2], "engine": {"banks": [2, 4]}}}, {"engine.banks"}),
        ({"zip": [{"engines": [1, 1], "banks": [2, 4]}]}, {"engines"}),
        ({"zip": [{"engines": [1, 1], "banks": [2, 2]}]}, set()),
        ({"zip": [{"bits": {"from": 1, "to": 2}, "banks": [2, 4]}]}, {"engine.banks"}),
        ({"zip": [{"bits": [1]}, {"engines": [1]}]}, set()),
    ],
)
def test_settings_that_follow_from_others(spec, bound):
    assert bound_settings(spec, ["engines", "engine.banks", "bits"]) == bound
