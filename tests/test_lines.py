"""Holds the lines of Python in each folder to what is agreed in ``lines.toml``."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST = tomllib.loads((ROOT / "tests" / "lines.toml").read_text())


@pytest.mark.parametrize("folder", MOST)
def test_a_folder_has_no_more_lines_than_agreed(folder):
    files = (ROOT / folder).rglob("*.py")
    lines = sum(len(path.read_text().splitlines()) for path in files)
    assert lines <= MOST[folder], (
        f"{folder}: take lines away, or say in lines.toml why there are more"
    )
