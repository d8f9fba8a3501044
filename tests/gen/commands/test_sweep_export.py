"""Runs ``ingather sweep export``."""

import pytest

from gen.base.errors import UserError
from gen.commands.sweep_export import export
from tests.gen.report import sample


def test_where_it_wrote(tmp_path, capsys):
    path = sample.write_sweep(tmp_path / "a.sqlite", sample.grid())
    export(path, tmp_path / "a.csv")
    assert capsys.readouterr().out == f"wrote {tmp_path / 'a.csv'}: 12 points\n"
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 13


def test_the_name_is_checked_before_the_sweep_is_read(tmp_path):
    with pytest.raises(UserError, match="end in one of"):
        export(tmp_path / "missing.sqlite", tmp_path / "a.txt")
    with pytest.raises(UserError, match="cannot read"):
        export(tmp_path / "missing.sqlite", tmp_path / "a.csv")
