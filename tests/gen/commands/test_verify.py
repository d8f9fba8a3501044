"""Calls ``ingather verify`` as a user does, on a checkout of fake tests."""

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from gen.base.errors import UserError
from gen.commands import verify as verify_command
from gen.commands.verify import components_of, verify
from tests.sim.verify import sandbox

CALL = """
import sys
from pathlib import Path
import sim.harness.cache
sim.harness.cache.CHECKOUT = Path(sys.argv.pop(1))
from gen.cli import COMMANDS, main
COMMANDS.setdefault("verify", ("gen.commands.verify:verify", "ingather verify"))
main()
"""


def ingather(root, *arguments, **environment):
    return sandbox.call(root, "-c", CALL, root, "verify", *arguments, **environment)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return sandbox.make(tmp_path_factory.mktemp("checkout"), sandbox.GOOD, sandbox.ODD)


@pytest.fixture(scope="module")
def failed(root):
    result = ingather(root, "--seed", "6", "--seeds", "2", "--jobs", "2", "-o", "out put")
    assert result.returncode == 1, result.stdout + result.stderr
    return result


def test_what_it_says(root, failed):
    lines = failed.stdout.splitlines()
    assert lines[0] == "seeds 6, 7; 2 items at a time"
    assert lines[1] == "6 items"
    assert sum("passed  tests/sim/test_fake.py::test_" in line for line in lines) == 5
    assert "failed  tests/sim/test_fake.py::test_odd seed 7" in lines
    assert "  why     case: AssertionError: an odd seed" in lines
    assert lines[-2].startswith("5 passed, 1 failed; 1 s of simulation in ")
    assert lines[-1] == "out put/index.html, junit.xml and verify.json"


def test_what_it_writes(root, failed):
    folder = root / "out put"
    content = json.loads((folder / "verify.json").read_text())
    assert content["seeds"] == [6, 7]
    assert [item["seed"] for item in content["items"]] == [6, 7] * 3
    (wrong,) = (item for item in content["items"] if item["failure"])
    assert (wrong["outcome"], wrong["seed"]) == ("failed", 7)
    for name in (wrong["failure"]["log"], "failures/1/pytest.txt"):
        assert Path(folder, name).is_file()
    document = JUnitXml.fromfile(str(folder / "junit.xml"))
    assert (document.tests, document.failures, document.errors) == (6, 1, 0)
    page = (folder / "index.html").read_text()
    assert "test_odd" in page
    assert "1 January 1970" not in page  # the day that is the tests' own
    manifest = json.loads((folder / "manifest.json").read_text())
    present = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert set(manifest["files"]) == present - {"manifest.json"}
    assert set(json.loads((root / "cache" / "durations.json").read_text())) == {
        f"tests/sim/test_fake.py::test_{name}" for name in ("good[1]", "good[2]", "odd")
    }


def test_again_in_the_same_folder(root, failed):
    (name,) = (line.split()[-2] for line in failed.stdout.splitlines() if "--seed 7" in line)
    assert name  # the replay names the seed
    result = ingather(root, "--filter", "good and 1", "--jobs", "1", "-o", "out put")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-2].startswith("1 passed; 0 s of simulation in ")
    assert not (root / "out put" / "failures").exists()


def test_nothing_that_simulates_matches(root):
    result = ingather(root, "--filter", "nothing_like_it", "--jobs", "2", "-o", "new/other")
    assert result.returncode == 2
    assert result.stdout == "seeds 1; 2 items at a time\n"
    assert result.stderr == (
        "ingather: no test that simulates is in tests and matches 'nothing_like_it'\n"
    )
    assert not (root / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["p4sgd-wroker"]}, "did you mean p4sgd-worker"),
        ({"seed": "x"}, "--seed x: a number from 0 to 2147483647, or 'random'"),
        ({"seed": "-1"}, "--seed -1: a number"),
        ({"keyword": "a and"}, "--filter 'a and': "),
        ({"scheduler": "tcp://a:1", "waves": True}, "--waves and --coverage stay where tests run"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "no scheduler answers at tcp://127.0.0.1:9"),
        ({"output": Path(__file__)}, "is not a folder"),
        ({"output": Path(__file__).parent}, "was not made by ingather"),
    ],
)
def test_mistakes_are_a_line_before_anything_runs(arguments, message, monkeypatch):
    monkeypatch.setattr(verify_command, "run", lambda *_: pytest.fail("it ran"))
    with pytest.raises(UserError) as caught:
        verify(**arguments)
    assert message in str(caught.value)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(verify_command, "NEEDED", ("json", "nothing_like_it"))
    with pytest.raises(UserError, match=r"nothing_like_it: pip install 'ingather\[verify\]'"):
        verify()


@pytest.mark.parametrize(
    ("targets", "components"),
    [
        (["tests"], ["hdl"]),
        (["tests/sim/p4sgd/test_train.py"], ["hdl"]),
        (["tests/hdl/p4sgd"], ["hdl.p4sgd"]),
        (["tests/hdl/p4sgd/engine/test_bank.py::test_bank[8]"], ["hdl.p4sgd.engine.bank"]),
    ],
)
def test_coverage_is_of_what_the_tests_mirror(targets, components):
    assert components_of(targets) == components


DAMAGES = """
def test_damages():
    simulate()
    run = Path(os.environ["INGATHER_COVERAGE_RUNS"]) / "run-a"
    run.mkdir(parents=True)
    (run / "about.json").write_text('{"design": "a", "components": {}, "test": "", "top": ""}')
    (run / "coverage.dat").write_text("")
    (run.parent / "designs").mkdir(exist_ok=True)
    (run.parent / "designs/a.v").write_text("")
"""


def test_the_report_is_there_without_coverage(tmp_path):
    """If coverage cannot be read, there still is a report, as the runs took long."""
    root = sandbox.make(tmp_path, "from pathlib import Path\n", DAMAGES)
    done = ingather(root, "--coverage", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("ingather: no coverage: ")
    assert "run-a/coverage.dat: no coverage data" in done.stderr
    assert json.loads((root / "out" / "verify.json").read_text())["items"]
    assert sorted(path.name for path in (root / "out").iterdir()) == [
        "index.html",
        "junit.xml",
        "manifest.json",
        "verify.json",
    ]
