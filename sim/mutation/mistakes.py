"""Plants mistakes of engineers in the source of the RTL, and sees whether tests find them.

A mistake is an edit of a file in ``hdl``, kept in ``planted/*.toml``. It is tried in a copy of the
checkout, by the tests of its own component alone, as `pytest` runs them by default.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sim.harness.cache import CHECKOUT, cache_root
from sim.mutation.targets import mirrors_of, shown

PLANTED = Path(__file__).with_name("planted")
KINDS = ("coincidence", "neighbour", "constant")
COPIED = ("hdl", "gen", "sim", "tests", "constraints", "pyproject.toml", "README.md")
DETECTED, MISSED = 1, 0  #: exit statuses of pytest


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """Describes an edit that breaks a component."""

    name: str
    kind: str  #: one of :data:`KINDS`
    file: str  #: path in the checkout
    what: str  #: what the broken RTL does wrong, in a sentence
    old: str  #: text that occurs once in the file
    new: str  #: what stands there instead
    equivalent: str = ""  #: why nothing around the component can tell it from the right one

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.name}: kind must be one of {', '.join(KINDS)}: {self.kind}")

    @property
    def tests(self) -> tuple[Path, ...]:
        """Return the test files of the component."""
        return mirrors_of(CHECKOUT / self.file)

    def plant(self, text: str) -> str:
        """Return source ``text`` with the mistake; ValueError if its place is not there once."""
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: `old` occurs {text.count(self.old)} times in {self.file}"
            )
        return text.replace(self.old, self.new)


def read_mistakes(folder: Path = PLANTED) -> tuple[Mistake, ...]:
    """Return all planted mistakes; raise ValueError for an entry of a wrong form."""
    result = []
    for path in sorted(folder.glob("*.toml")):
        try:
            result += [Mistake(**entry) for entry in tomllib.loads(path.read_text())["mistake"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path.name}: {error}") from error
    return tuple(result)


@cache
def judged(
    tests: Sequence[str], seed: int, most_seconds: float, mistake: Mistake | None = None
) -> tuple[int, str]:
    """Return the exit status of ``tests`` in a copy of the checkout, and what failed or was said.

    The copy has ``mistake``, or none.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p"]
    command += ["no:cacheprovider", "--seed", str(seed), *tests]
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        for name in COPIED:
            source, copy = CHECKOUT / name, Path(folder, name)
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)
        if mistake:
            broken = Path(folder, mistake.file)
            broken.write_text(mistake.plant(broken.read_text()))
        environment = {**os.environ, "INGATHER_CACHE": str(cache_root()), "PYTHONPATH": folder}
        options: Any = {"cwd": folder, "env": environment, "timeout": most_seconds}
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        except subprocess.TimeoutExpired:
            return -1, f"no verdict in {most_seconds:.0f} s"
    said = (done.stdout + done.stderr).splitlines() or [""]
    how = next((line for line in said if line.startswith("FAILED ")), said[-1])
    return done.returncode, how[:300]


def try_mistake(mistake: Mistake, seed: int, most_seconds: float) -> dict[str, Any]:
    """Return as JSON whether the tests of the component find ``mistake``, and which one does.

    ``fate`` is found, survived, equivalent (by the reason given with it) or undecided: no verdict
    in ``most_seconds``, tests that cannot run, or tests that fail without the mistake, too.
    """
    start = time.monotonic()
    tests = tuple(shown(test) for test in mistake.tests)
    status, how = -1, "the component has no tests of its own"
    if tests:
        status, how = judged(tests, seed, most_seconds, mistake)
    if status == DETECTED:
        control, failed = judged(tests, seed, most_seconds)
        if control != MISSED:
            status, how = -1, f"without the mistake: {failed}"
    missed = "equivalent" if mistake.equivalent else "survived"
    return {
        "name": mistake.name,
        "kind": mistake.kind,
        "file": mistake.file,
        "fate": {DETECTED: "found", MISSED: missed}.get(status, "undecided"),
        "how": how,
        "seconds": round(time.monotonic() - start, 1),
    }
