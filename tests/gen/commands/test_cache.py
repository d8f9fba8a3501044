"""Calls ``ingather cache`` as a user does; what is pruned is tested in tests/sim/harness."""

import pytest
from typer import Typer
from typer.testing import CliRunner

from gen.base.errors import UserError
from gen.commands.cache import bytes_of, cache, seconds_of, shown_size, shown_time
from tests.sim.harness.cache_folders import DAY, make

APP = Typer()
APP.command()(cache)


def ingather(*arguments):
    result = CliRunner().invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout.splitlines()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    return tmp_path


def test_what_it_holds_and_would_remove_and_removes(folder):
    stored, gone = make("sim", "a", DAY, 4000), make("modules", "b", 50 * DAY, 2500)
    lines = ingather("--older-than", "30d")
    assert lines[0] == f"cache {folder}"
    assert [line.split()[0] for line in lines[1:4]] == ["sim", "modules", "all"]
    assert lines[3].split() == ["all", "2", "6.5", "KB", "last", "used", "24h", "to", "50d", "ago"]
    assert lines[4:] == ["--prune would remove 1 entry, 2.5 KB"]
    assert gone.is_dir()
    assert ingather("--prune", "--older-than", "30d")[-1] == "removed 1 entry, 2.5 KB"
    assert stored.is_dir()
    assert not gone.exists()
    assert ingather("--prune", "--most", "5KB")[-1] == "removed 0 entries, 0 B"


def test_mistakes_are_one_line():
    for arguments, text in (
        (["--prune"], "--prune needs"),
        (["--most", "much"], "--most is a size"),
        (["--older-than", "30"], "--older-than is a number and"),
    ):
        with pytest.raises(UserError, match=text):
            CliRunner().invoke(APP, arguments, catch_exceptions=False)


def test_times_and_sizes():
    assert [seconds_of(text) for text in ("90m", "12h", "30d", "1.5w")] == [
        5400,
        12 * 3600,
        30 * DAY,
        10.5 * DAY,
    ]
    assert [bytes_of(text) for text in ("5GB", "500 MB", "1k", "7")] == [5e9, 5e8, 1000, 7]
    assert [shown_size(size) for size in (0, 999, 1e3, 2.5e9)] == ["0 B", "999 B", "1 KB", "2.5 GB"]
    assert [shown_time(age) for age in (-1, 119, 3 * 3600, 3 * DAY)] == ["0m", "1m", "3h", "3d"]
