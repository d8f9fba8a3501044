"""Builds the compiled model from the C++ beside this file, once, and calls it through ctypes."""

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.harness.native import INT, POINTER, Library
from sim.harness.verilate import Build
from sim.netsparse.model.shape import SHAPE_FIELDS, Arrays

#: Functions: what they return, and what they are given.
FUNCTIONS: dict[str, tuple[Any, Sequence[Any]]] = {
    "model_shape_fields": (INT, ()),
    "model_new": (POINTER, (POINTER,)),
    "model_delete": (None, (POINTER,)),
    "model_advance": (INT, (POINTER, INT)),
    "model_first_packet": (INT, (POINTER,)),
    "model_consumed": (INT, (POINTER,)),
    "model_client": (None, (POINTER, INT, POINTER)),
    "model_served": (INT, (POINTER, INT)),
    "model_traffic": (None, (POINTER, INT, POINTER)),
    "model_node": (None, (POINTER, INT, POINTER)),
    "model_link": (None, (POINTER, INT, POINTER)),
    "model_cache": (None, (POINTER, INT, POINTER)),
    "model_waits": (INT, (POINTER, INT, INT, INT)),
}


LIBRARY = Library(main=Path(__file__).with_name("cluster.cpp"), functions=FUNCTIONS)


def build() -> Build:
    """Compile the library; raise BuildError if there is no compiler, or it refuses."""
    return LIBRARY.build()


@lru_cache
def load() -> Any:
    """Return the library with the types of its functions declared."""
    library = LIBRARY.load()
    if library.model_shape_fields() != len(SHAPE_FIELDS):
        raise AssertionError("shape.h and shape.py differ")
    return library


class Model:
    """Runs a modelled cluster from cycle 0 on."""

    def __init__(self, arrays: Arrays) -> None:
        self.library = load()
        self.arrays = arrays  # which the library reads
        self.handle = self.library.model_new(ctypes.byref(arrays.as_struct()))

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *error: object) -> None:
        self.library.model_delete(self.handle)

    def advance(self, end: int) -> int:
        """Go on to cycle ``end``, or until all hosts have ended; return the cycle reached."""
        return self.library.model_advance(self.handle, end)

    @property
    def consumed(self) -> int:
        """Return the number of idxs that all clients have consumed."""
        return self.library.model_consumed(self.handle)

    @property
    def first_packet(self) -> int:
        """Return the cycle in which the first packet came off a link; NEVER if none has."""
        return self.library.model_first_packet(self.handle)

    def served(self, server: int) -> int:
        """Return the number of reads that a server has answered."""
        return self.library.model_served(self.handle, server)

    def waits(self, switch: int, kind: int, port: int) -> int:
        """Return the cycles in which a packet of a port waited for room."""
        return self.library.model_waits(self.handle, switch, kind, port)

    def counts(self, what: str, index: int, size: int) -> NDArray[np.int64]:
        """Return the counts of item ``index`` of a kind: client, traffic, node, link or cache."""
        result = np.zeros(size, np.int64)
        getattr(self.library, f"model_{what}")(self.handle, index, result.ctypes.data)
        return result
