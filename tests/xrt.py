"""Builds and runs programs with XRT, as Debian has it: ``libxrt-dev`` and ``libxrt1``."""

import os
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path("/usr/include/xrt")
MISSING = "libxrt-dev is missing (on Debian)"
needs_xrt = pytest.mark.skipif(not INCLUDE.exists(), reason=MISSING)


def compiled(source, program, *options):
    """Build a program, or a library, with XRT's; return its path."""
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-isystem{INCLUDE}"]
    subprocess.run([*command, *options, source, "-o", program, "-lxrt_coreutil"], check=True)
    return program


def emulating(folder, mode="noop"):
    """Return an environment in which XRT's library finds its driver of a ``mode``.

    It looks for it in ``lib`` of a folder, not where Debian has it.
    """
    libraries = subprocess.run(
        ["g++", "-print-multiarch"], capture_output=True, text=True, check=True
    )
    (folder / "lib").symlink_to(Path("/usr/lib", libraries.stdout.strip()))
    return os.environ | {"XILINX_XRT": str(folder), "XCL_EMULATION_MODE": mode}
