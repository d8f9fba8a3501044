"""Finds the tools that a build needs, and calls them."""

import os
import re
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

from sim.harness.cache import keep_log
from sim.harness.environment import inherited
from sim.harness.errors import HarnessError
from sim.harness.verilator_tool import Verilator, find_verilator, no_compiler, no_verilator

JOBS = os.cpu_count() or 1
LINKS = "verilator"  #: folder of links to Verilator, in the folder of a build
MAX_LINES = 20  #: most lines that are quoted of what a failed tool said


class BuildError(HarnessError, RuntimeError):
    """Reports that a tool is missing, or that Verilator or the compiler refused the design."""


def require_verilator() -> Verilator:
    """Return Verilator, or raise BuildError that says how to get it."""
    tool = find_verilator()
    if tool is None:
        raise BuildError(no_verilator())
    return tool


def require_compiler() -> None:
    """Raise BuildError unless all programs that compile a simulator are there."""
    if missing := no_compiler():
        raise BuildError(missing)


def verilator_command(work: Path) -> list[str]:
    """Return the command of Verilator, by links in ``work`` that :func:`execute` knows."""
    return require_verilator().command(work / LINKS)


def execute(command: list[str], work: Path) -> str:
    """Run ``command`` in ``work``, return what it prints; BuildError with that if it fails."""
    # A compiler that is killed leaves nothing elsewhere.
    environment = inherited() | {"TMPDIR": str(work)}
    environment |= require_verilator().environment(work / LINKS)
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
    return result.stdout


def failed(tool: str, status: int, said: str) -> BuildError:
    """Make the error of a tool that ended with ``status``; a note has all that it ``said``."""
    lines = [line for line in said.splitlines() if re.search("%|error", line)]
    lines = (lines or said.splitlines())[:MAX_LINES]
    reason = lines[0].strip() if lines else how_it_ended(status)
    try:
        stored = f"all that it said: {keep_log(tool, said)}"
    except OSError as refused:
        stored = f"nothing is kept of what it said: {refused.strerror}"
    error = BuildError("\n".join([f"{tool} failed: {reason}; {stored}", *lines[1:]]))
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
