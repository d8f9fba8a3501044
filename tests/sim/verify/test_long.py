"""Tests what a commit leaves to the long form, as pytest shows it on a sandbox."""

import pytest

from tests.sim.verify import sandbox
from tests.sim.verify.sandbox import run

LONG = """
@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.long)])
def test_sizes(size):
    simulate()


@pytest.mark.long
def test_whole():
    pass
"""
SHORT = ["test_sizes[1]", "test_odd"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return sandbox.make(tmp_path_factory.mktemp("checkout"), LONG, sandbox.ODD)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_is_left_out_is_counted(root, workers):
    ran, out = run(root, "--seed", "2", *workers)
    assert "2 long items are left out: make test-all, or --all" in out
    assert "2 passed" in out
    assert workers or ran == SHORT


def test_all_is_everything(root):
    ran, out = run(root, "--seed", "2", "--all")
    assert ran == ["test_sizes[1]", "test_sizes[2]", "test_whole", "test_odd"]
    assert "left out" not in out


def test_what_is_named_is_run(root):
    """So a failure of the long form is replayed by its own line."""
    name = "test_sizes[2]"
    ran, out = run(root, "--seed", "2", what=f"tests/sim/test_fake.py::{name}")
    assert ran == [name]
    assert "left out" not in out


def test_one_size_is_drawn_from_the_short_form(root):
    drawn = {run(root, "--one-size", "--seed", seed)[0][0] for seed in (2, 4)}
    assert drawn == {"test_sizes[1]"}
