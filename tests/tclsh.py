"""Finds tclsh, without which some tests of the board package are left out."""

import shutil

import pytest

MISSING = "tclsh is missing (on Debian: apt-get install tcl)"


def tclsh() -> str:
    """Return the path of tclsh; leave out the test that asks if there is none."""
    return shutil.which("tclsh") or pytest.skip(MISSING)
