"""Makes a short run on another seed, as pytest shows it on a sandbox."""

import re

import pytest

from tests.sim.verify import sandbox
from tests.sim.verify.sandbox import run

SIZES = """
@pytest.mark.parametrize("size", range(6))
@pytest.mark.parametrize("mode", ["a", "b"])
def test_sizes(size, mode):
    simulate()


@pytest.mark.parametrize("number", [1, 2])
def test_without_simulation(number):
    pass


def test_plain_failure():
    simulate()
    assert os.environ["INGATHER_SEED"] == "5", "only on another seed"
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return sandbox.make(tmp_path_factory.mktemp("checkout"), SIZES, sandbox.GOOD, sandbox.ODD)


def test_one_size_of_each_test_that_simulates(root):
    ran, out = run(root, "--one-size", "--seed", "5")
    functions = [name.partition("[")[0] for name in ran]
    assert functions == ["test_sizes", "test_plain_failure", "test_good", "test_odd"]
    assert "of each test that simulates, one size" in out
    assert "15 deselected" not in out
    assert "14 deselected" in out  # 11 sizes, 1 of test_good, and what does not simulate


def test_the_seed_draws_it(root):
    drawn = {seed: run(root, "--one-size", "--seed", seed)[0][0] for seed in (5, 6, 7)}
    assert run(root, "--one-size", "--seed", 5)[0][0] == drawn[5]
    assert len(set(drawn.values())) > 1


def test_a_drawn_seed_is_printed_and_replays_what_failed(root):
    _, out = run(root, "--one-size", "--seed", "random", "-n", "2")
    (seed,) = re.findall(r"^seed: (\d+) \(replay with --seed\)$", out, re.M)
    assert "of each test that simulates, one size" in out
    item = "tests/sim/test_fake.py::test_plain_failure"
    assert f"replay: pytest {item} --seed {seed}" in out
    _, again = run(root, "--seed", seed, what=item)
    assert "only on another seed" in again


def test_one_size_of_a_component_runs_on_a_drawn_seed(tmp_path):
    root = sandbox.make(tmp_path, SIZES)
    text = (root / "tests/sim/test_fake.py").read_text()
    seed_is_one = '    simulate()\n    assert os.environ["INGATHER_SEED"] == "1"\n'
    (root / "tests/hdl").mkdir()
    (root / "tests/hdl/test_part.py").write_text(text.replace("    simulate()\n", seed_is_one, 1))
    _, out = run(root, "--drawn-seed", "5", "-n", "2", what="tests")
    assert "of each test in tests/hdl/ that simulates, one size has seed 5" in out
    failed = re.findall(r"^FAILED (\S+)", out, re.M)
    (sizes,) = [name for name in failed if name.startswith("tests/hdl/test_part.py::test_sizes[")]
    assert {*failed} == {sizes, "tests/sim/test_fake.py::test_plain_failure"}  # that has seed 1
    assert f"replay: pytest '{sizes}' --seed 5" in out


PARAMS = """
@pytest.mark.parametrize("params", range(6))
def test_component(params):
    simulate()


@pytest.mark.parametrize("width", range(2))
@pytest.mark.parametrize("fault", ["cut", "late", "lost"])
def test_faults(width, fault):
    simulate()


@pytest.mark.parametrize("params", range(4))
def test_golden(params):
    pass


@pytest.mark.each_size
@pytest.mark.parametrize("params", range(3))
def test_each(params):
    simulate()
"""


def test_other_sizes_are_left_to_other_commits(tmp_path):
    """Each kind of a test runs in one of its sizes, and in all of them if it is marked."""
    root = sandbox.make(tmp_path, PARAMS)
    (root / "tests/hdl").mkdir()
    (root / "tests/sim/test_fake.py").rename(root / "tests/hdl/test_fake.py")
    options = {"what": "tests/hdl"}
    drawn = {run(root, "--drawn-seed", seed, **options)[0][0] for seed in (5, 6, 7)}
    assert len(drawn) > 1
    ran, out = run(root, "--drawn-seed", "5", **options)
    assert "8 long items are left out: make test-all, or --all" in out
    assert len(ran) == 1 + 3 + 4 + 3
    for everything in ([], ["--drawn-seed", "5", "--all"]):
        ran, out = run(root, *everything, **options)
        assert len(ran) == 6 + 6 + 4 + 3
        assert "left out" not in out


def test_without_the_option_everything_runs(root):
    ran, out = run(root, "--seed", "5")
    assert len(ran) == 12 + 2 + 1 + 2 + 1
    assert "deselected" not in out
