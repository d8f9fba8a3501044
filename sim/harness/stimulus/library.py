"""Compiles what drives and watches streams inside a simulator, as a module of Python."""

import sys
from functools import cache
from pathlib import Path

from sim.harness.build_tools import execute, require_compiler, require_verilator
from sim.harness.cache import cached_folder, digest
from sim.harness.host import HEADERS
from sim.harness.verilator_tool import output_of

SOURCES = [*sorted(Path(__file__).parent.glob("*.h")), Path(__file__).with_name("engine.cpp")]
FILE = "engine.so"
LIBRARY = "INGATHER_STIMULUS"  #: environment of a simulator: the compiled module


@cache
def library() -> Path:
    """Return the module, compiled once for this Python; raise BuildError on failure."""
    require_compiler()
    headers = [f"-I{HEADERS}", f"-I{require_verilator().vpi_headers}"]
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", *headers]
    texts = [path.read_text() for path in SOURCES]
    key = digest(*texts, *flags, sys.version, output_of("g++", "--version"))

    def compile_it(target: Path) -> None:
        execute(["g++", *flags, str(SOURCES[-1]), "-o", str(target / FILE)], target)

    return cached_folder("runtime", key, compile_it)[0] / FILE
