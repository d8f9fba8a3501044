"""Tests seeds of items, as pytest's own run on a sandbox shows them."""

import pytest

from sim.verify.seeds import DEFAULT_SEED, checked_seed, seeds_from
from tests.sim.verify import sandbox

REPORTED = """
import random
import hypothesis

def test_reports():
    print("TOLD seed", simulate(), os.environ["INGATHER_SEED"])

def test_of_fixture(seed, rng):
    print("TOLD fixture", seed, rng.integers(1000))

DRAWN = []

@hypothesis.given(hypothesis.strategies.integers(0, 10**9))
@hypothesis.settings(max_examples=5)
def test_draws(number):
    DRAWN.append(number)

def test_drawn():
    print("TOLD drawn", *DRAWN)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    built = sandbox.make(tmp_path_factory.mktemp("checkout"), REPORTED, sandbox.GOOD)
    for name in ("conftest.py", "tclsh.py"):  # ours, and what it imports
        (built / "tests" / name).write_text((sandbox.CHECKOUT / "tests" / name).read_text())
    return built


def reported(root, *arguments):
    where = ("-n0", "-s", "--rootdir", root, root)
    result = sandbox.call(root, "-m", "pytest", *where, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [line.rpartition("TOLD ")[2] for line in result.stdout.splitlines() if "TOLD" in line]
    header = [line for line in result.stdout.splitlines() if line.startswith("seed:")]
    return lines, header


def test_without_an_option_the_seed_is_fixed(root):
    lines, header = reported(root)
    assert header == [f"seed: {DEFAULT_SEED} (replay with --seed)"]
    assert lines[0] == f"seed {DEFAULT_SEED} {DEFAULT_SEED}"
    assert reported(root) == (lines, header)


def test_all_follows_the_seed(root):
    lines, _ = reported(root, "--seed", "77")
    assert lines[:2] == ["seed 77 77", f"fixture 77 {lines[1].split()[-1]}"]
    others, _ = reported(root, "--seed", "78")
    assert all(first != second for first, second in zip(lines, others, strict=True))


def test_several_seeds_for_what_simulates_alone(root):
    lines, header = reported(root, "--seed", "7", "--seeds", "3")
    assert header == ["seed: 7, 8, 9 (replay with --seed)"]
    assert lines[:3] == ["seed 7 7", "seed 8 8", "seed 9 9"]
    assert [line.split()[0] for line in lines[3:]] == ["fixture", "drawn"]
    assert lines[3].startswith("fixture 7 ")


def test_marked_is_what_simulates(root):
    lines, _ = reported(root, "-m", "simulates")
    assert lines == [f"seed {DEFAULT_SEED} {DEFAULT_SEED}"]


def test_seeds_are_in_a_row():
    assert seeds_from("5", 3) == [5, 6, 7]
    first, second = seeds_from("random", 2)
    assert second == first + 1
    assert seeds_from("random", 1) != seeds_from("random", 1)


@pytest.mark.parametrize("text", ["-1", "x", str(1 << 31), ""])
def test_what_is_no_seed(text):
    with pytest.raises(ValueError):  # noqa: PT011
        checked_seed(text)
