"""Compiles libraries of C++, finds them again by the hash of their sources, and loads them."""

import ctypes
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.harness.build_tools import BuildError, require_compiler
from sim.harness.cache import cached_folder, digest
from sim.harness.verilate import Build

COMMAND = ("g++", "-std=c++17", "-O2", "-shared", "-fPIC")
FILE = "model.so"

INT = ctypes.c_int64
POINTER = ctypes.c_void_p


@dataclass(frozen=True, kw_only=True)
class Library:
    """Describes a library: its C++ file, and the functions that it offers."""

    main: Path
    functions: Mapping[str, tuple[Any, Sequence[Any]]]  #: types of their result and arguments

    def build(self) -> Build:
        """Compile the library; raise BuildError if there is no compiler, or it refuses."""
        text = [path.read_text() for path in [*sorted(self.main.parent.glob("*.h")), self.main]]
        began = time.monotonic()
        folder, built = cached_folder("model", digest(*COMMAND, *text), self.compile_into)
        return Build(folder=folder, top="model", built=built, seconds=time.monotonic() - began)

    def load(self) -> Any:
        """Load the library, with the types of its functions declared."""
        library = ctypes.CDLL(str(self.build().folder / FILE))
        for name, (result, arguments) in self.functions.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, list(arguments)
        return library

    def compile_into(self, folder: Path) -> None:
        """Compile the library into ``folder``."""
        require_compiler()
        command = [*COMMAND, "-o", str(folder / FILE), str(self.main)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"the compiler refused {self.main.name}: {done.stderr[:2000]}")
