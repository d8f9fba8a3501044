"""Finds results: each kind by its content, damage is named, foreign files are passed over."""

import pytest

from gen.base.errors import UserError
from gen.report.sources import DEPTH, find, kind_of
from tests.gen.report import sample


def labels(result):
    return {kind: [label for label, _ in results] for kind, results in result.results.items()}


def test_everything_is_detected(tmp_path):
    result = find([sample.everything(tmp_path / "all")])
    assert labels(result) == {
        "regression": ["all/verify/verify.json"],
        "estimate": ["all/engine.json"],
        "run": ["all/digits/result.json", "all/stokes/result.json"],
    }
    assert [sweep.label for sweep in result.sweeps] == ["all/scaling.sqlite"]
    assert len(result.sweeps[0].points) == 12
    assert result.left_out == ()


def test_a_regression_has_the_coverage_beside_it(tmp_path):
    result = find([sample.everything(tmp_path / "all")])
    assert result.of("regression")[0][1]["coverage"] == sample.coverage()
    alone = find([sample.write(tmp_path / "alone/verify.json", sample.verify())])
    assert alone.of("regression")[0][1]["coverage"] is None


def test_a_file_that_is_requested(tmp_path):
    path = sample.write(tmp_path / "any.json", sample.training())
    assert labels(find([path]))["run"] == [f"{tmp_path.name}/any.json"]


def test_each_file_is_taken_once_and_has_a_label_of_its_own(tmp_path):
    for folder in ("a/out", "b/out"):
        sample.write(tmp_path / folder / "result.json", sample.training())
    places = [
        tmp_path / "a/out",
        tmp_path / "b/out",
        tmp_path / "a",
        tmp_path / "b/out/result.json",
    ]
    assert labels(find(places))["run"] == ["out/result.json", "out/result.json (2)"]


def test_other_files_are_passed_over(tmp_path):
    sample.write(tmp_path / "digits/result.json", sample.training())
    sample.write(tmp_path / "digits/manifest.json", {"made_by": "ingather"})
    sample.write(tmp_path / "netlist.json", {"modules": {}})
    sample.write(tmp_path / "other.json", {"design": "x", "parameters": {}})
    (tmp_path / "cut.json").write_text('{"modules": {"parameters"')
    (tmp_path / "log.txt").write_text("not JSON")
    assert find([tmp_path]).left_out == ()


def test_folders_of_builds_and_deep_folders_are_not_entered(tmp_path):
    sample.write(tmp_path / "digits/result.json", sample.training())
    (tmp_path / "sim/.locks").mkdir(parents=True)
    sample.write(tmp_path / "sim/a/result.json", sample.training())
    sample.write(tmp_path / ".hidden/result.json", sample.training())
    sample.write(tmp_path.joinpath(*"d" * (DEPTH + 1), "result.json"), sample.training())
    assert labels(find([tmp_path]))["run"] == [f"{tmp_path.name}/digits/result.json"]


DAMAGED = {
    "empty.sqlite": (b"", "is empty"),
    "text.sqlite": (b"not a database", "is no SQLite file"),
    "cut.sqlite": (b"SQLite format 3\0" + bytes(2000), "is not the results of a sweep"),
    "verify.json": (b"", "is empty"),
    "result.json": (b'{"data": ', "is not JSON"),
    "other/result.json": (b"[]", "is no result of"),
    "binary/result.json": (b"\xff\xfe\x00", "it is no text"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named(tmp_path, name):
    content, words = DAMAGED[name]
    path = tmp_path / "bad" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(UserError, match=words) as error:
        find([path])
    assert str(path) in str(error.value)
    with pytest.raises(UserError, match=f"nothing to report in .*{words}"):
        find([tmp_path / "bad"])
    sample.write(tmp_path / "bad/good/result.json", sample.training())
    with pytest.raises(UserError, match=words):
        find([tmp_path / "bad/good", path])
    (line,) = find([tmp_path / "bad"]).left_out
    assert words in line
    assert f"bad/{name}" in line
    assert str(tmp_path) not in line
    assert "\n" not in line


def test_a_database_of_something_else_is_named(tmp_path):
    path = sample.foreign_database(tmp_path / "other.sqlite")
    with pytest.raises(UserError, match=r"other\.sqlite is not the results of a sweep"):
        find([path])


def test_nothing_there(tmp_path):
    with pytest.raises(UserError, match="nothing to report in"):
        find([tmp_path])
    with pytest.raises(UserError, match=r"there is no .*missing"):
        find([tmp_path / "missing"])


def test_figures_that_are_none_become_none(tmp_path):
    path = tmp_path / "result.json"
    path.write_text('{"command":"c","design":NaN,"workload":1e999,"figures":-Infinity,"exact":1.5}')
    assert dict(find([path]).of("run")[0][1]) == {
        "command": "c",
        "design": None,
        "workload": None,
        "figures": None,
        "exact": 1.5,
    }


@pytest.mark.parametrize("content", [None, [], 3, {}, {"data": 1}])
def test_what_is_no_result(content):
    assert kind_of(content) is None
