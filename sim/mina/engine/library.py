"""Builds the compiled scheduler and simulator, once, of the C++ beside this file."""

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from sim.harness.native import INT, POINTER, Library
from sim.mina.engine.setup import Setup

LIBRARY = Library(
    main=Path(__file__).with_name("engine.cpp"),
    functions={
        "mina_setup_bytes": (INT, ()),
        "mina_run": (None, (POINTER,)),
        "mina_group": (None, (POINTER, INT, POINTER, POINTER, POINTER)),
        "mina_steps": (None, (POINTER, POINTER, POINTER)),
        "mina_place": (INT, (POINTER, POINTER, POINTER, INT, POINTER)),
        "mina_independent": (INT, (INT, INT, POINTER, POINTER)),
    },
)


@lru_cache
def load() -> Any:
    """Return the library with its functions."""
    library = LIBRARY.load()
    if library.mina_setup_bytes() != ctypes.sizeof(Setup):
        raise AssertionError("setup.h and setup.py differ")
    return library
