"""Runs ``ingather report``."""

from pathlib import Path

import pytest

from gen.base.errors import UserError
from gen.commands.report import report
from tests.gen.report import sample


def test_a_page_of_a_folder(tmp_path, capsys):
    sample.write(tmp_path / "in/digits/result.json", sample.training())
    sample.write(tmp_path / "in/empty.sqlite", "")
    output = tmp_path / "page.html"
    report([tmp_path / "in"], output)
    reported = capsys.readouterr().out.splitlines()
    assert reported[0] == "left out: in/empty.sqlite is no SQLite file, not that of a sweep"
    assert reported[1].startswith(f"wrote {output} (0.")
    assert output.read_text().startswith("<!DOCTYPE html>")


def test_what_cannot_be_written(tmp_path):
    sample.write(tmp_path / "result.json", sample.training())
    with pytest.raises(UserError, match="is a folder; the page is a file"):
        report([tmp_path], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        report([tmp_path], tmp_path / "file/page.html")


def test_a_folder_that_is_not_there_is_named_and_not_built(tmp_path):
    sample.write(tmp_path / "result.json", sample.training())
    output = tmp_path / "new/page.html"
    with pytest.raises(UserError) as error:
        report([tmp_path], output)
    assert str(error.value) == f"cannot write {output}: there is no folder {tmp_path / 'new'}"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_page_that_cannot_be_written_whole_leaves_the_one_before(tmp_path, monkeypatch):
    sample.write(tmp_path / "result.json", sample.training())
    output = tmp_path / "page.html"
    output.write_text("before")

    def full(path, *_arguments, **_options):
        with path.open("wb") as file:
            file.write(b"<!DOC")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match=r"cannot write .*page\.html: No space left on device"):
        report([tmp_path], output)
    assert output.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "result.json"]


def test_the_folder_that_is_meant_if_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="there is no build"):
        report()
    sample.write(tmp_path / "build/digits/result.json", sample.training())
    report()
    assert (tmp_path / "build/report.html").is_file()
