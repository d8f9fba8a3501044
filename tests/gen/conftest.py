"""Runs the command in the process of the tests."""

import sys
from types import SimpleNamespace

import pytest

from gen.cli import main


@pytest.fixture
def called(monkeypatch, capsys):
    """Call ``ingather`` with arguments, in a folder; return its status and what it printed.

    What a process of its own would add is its start, which takes longer than most commands.
    """

    def call(*arguments, cwd=None):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["ingather", *map(str, arguments)])
            if cwd is not None:
                patch.chdir(cwd)
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=out, stderr=err)

    return call
