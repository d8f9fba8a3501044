"""Makes a checkout of nothing but fake tests, whose simulations take no time."""

import os
import re
import subprocess
import sys
from pathlib import Path

from sim.harness.cache import CHECKOUT

__all__ = ["CHECKOUT", "call", "make", "run"]

SETTINGS = '[tool.pytest.ini_options]\naddopts = "-ra"\n'

CONFTEST = """\
import os
pytest_plugins = ["sim.verify.plugin"]
os.environ["SOURCE_DATE_EPOCH"] = "0"
"""

FAKE = '''\
import os
from pathlib import Path

from sim.harness import verilator
from sim.harness.results import Case, Run


def simulate(message=""):
    """What verilator.simulate tells of a simulation, without one."""
    if os.environ.get("REALLY"):
        verilator.simulate(None, "")
    case = Case(name="case", passed=not message, sim_ns=400, seconds=0.1, message=message)
    seed = verilator.chosen_seed()
    folder = Path(os.environ["INGATHER_CACHE"])
    run = Run(
        top="fake",
        seed=seed,
        seconds=0.1,
        tests=(case,),
        folder=folder,
        built=False,
        build_seconds=0.01,
    )
    for observer in verilator.observers:
        observer(None, run)
    if message:
        raise verilator.SimulationError("1 of 1 failed", run)
    return seed
'''

IMPORTS = """\
import os
import re
import subprocess

import pytest

from tests.fake import simulate
"""

GOOD = """
@pytest.mark.parametrize("size", [1, 2])
def test_good(size):
    simulate()
"""

ODD = """
def test_odd():
    simulate("AssertionError: an odd seed" if int(os.environ["INGATHER_SEED"]) % 2 else "")
"""

HANGS = """
def test_hangs():
    simulate()
    subprocess.run(["sh", "-c", "sleep {seconds}; true"])
"""

CRASHES = """
def test_crashes():
    simulate()
    os._exit(1)
"""

OTHERS = """
@pytest.fixture(scope="module")
def shared():
    return simulate()


def test_first(shared):
    pass


def test_second(shared):
    assert shared == int(os.environ["INGATHER_SEED"])


def test_lacks(nothing_like_this):
    simulate()


def test_skipped():
    pytest.skip("not today")
    simulate()


def test_without_simulation():
    pass
"""


def make(root: Path, *tests: str) -> Path:
    """Make a checkout in ``root`` with one file of ``tests``."""
    folder = root / "tests" / "sim"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (root / "pyproject.toml").write_text(SETTINGS)
    (root / "tests" / "conftest.py").write_text(CONFTEST)
    (root / "tests" / "fake.py").write_text(FAKE)
    (folder / "test_fake.py").write_text(IMPORTS + "".join(tests))
    return root


def call(root: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess:
    """Call Python in the checkout at ``root``, which has a cache of its own."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "INGATHER_CACHE": str(root / "cache"),
            **environment,
        },
    )


def run(root, *arguments, what="."):
    """Run pytest in a checkout; return the items of ``test_fake`` that ran, and what it printed."""
    result = call(root, "-m", "pytest", "-v", "--rootdir", root, what, *arguments)
    ran = re.findall(r"test_fake\.py::(\S+) (?:PASSED|FAILED)", result.stdout)
    return ran, result.stdout
