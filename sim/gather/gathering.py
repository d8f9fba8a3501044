"""Reads or makes the table and the idxs of a gather."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.gather.limits import MAX_ROW
from sim.gather.workload import GatherWorkload
from sim.workloads.arrays import check, read_array
from sim.workloads.files import InputError
from sim.workloads.matrices import load_matrix
from sim.workloads.mini_batch import mini_batch

MAX_TABLE = 1 << 30  #: bytes of a random table


@dataclass(frozen=True)
class Gathering:
    """Holds what is gathered."""

    table: NDArray[np.uint8]  #: [row, byte]
    idxs: NDArray[np.unsignedinteger]  #: of 4 or 8 bytes each

    @property
    def required(self) -> NDArray[np.uint8]:
        """Return what NumPy says, as it counts idxs: ``table[idx]``."""
        return self.table[self.idxs]

    def shares(self, engines: int) -> "list[Gathering]":
        """Return what each engine gathers: consecutive idxs, about as many for each engine."""
        return [Gathering(self.table, part) for part in np.array_split(self.idxs, engines)]


def gathering(requested: GatherWorkload) -> Gathering:
    """Read or make table and idxs; raise InputError for what is none, or does not fit."""
    rng = np.random.default_rng(requested.seed)
    idxs = idxs_of_file(requested.idx) if requested.idx is not None else None
    vertices = None
    if idxs is None:
        graph: Any = load_matrix(requested.graph)
        vertices = graph.shape[0]
        seeds = rng.choice(vertices, min(requested.batch, vertices), replace=False)
        idxs = mini_batch(graph, seeds, requested.layers, rng, requested.repeats).astype(
            f"<u{requested.idx_bytes}"
        )
    if requested.table is not None:
        table = table_of_file(requested.table)
    else:
        rows = int(idxs.max()) + 1 if vertices is None else vertices
        if rows * requested.row_bytes > MAX_TABLE:
            raise InputError(
                f"a random table of {rows:,} rows of {requested.row_bytes} bytes has more than"
                f" {MAX_TABLE:,} bytes: smaller row_bytes, or a table of your own, which stays in"
                " its file"
            )
        table = rng.integers(0, 256, (rows, requested.row_bytes), dtype=np.uint8)
    if len(idxs) < requested.engines:
        raise InputError(f"{len(idxs)} idxs are too few for {requested.engines} engines")
    if idxs.max() >= len(table):
        drawn = f"; without --idx they are drawn from the graph {requested.graph} (--graph)"
        raise InputError(
            f"idxs must be less than the {len(table):,} rows of the table: {idxs.max():,}"
            + drawn * (requested.idx is None)
        )
    return Gathering(table, idxs)


def idxs_of_file(name: str) -> NDArray[np.unsignedinteger]:
    """Return the idxs of a file, of 8 bytes each if its numbers have 8, else of 4."""
    result = read_array(Path(name))
    check(f"{name}: idxs", result, "iu", "idxs")
    if not result.size:
        raise InputError(f"{name}: has no idxs")
    if result.min() < 0:
        raise InputError(f"{name}: idxs must not be negative: {result.min()}")
    return result.astype("<u8" if result.dtype.itemsize == 8 else "<u4")


def table_of_file(name: str) -> NDArray[np.uint8]:
    """Return the rows of a file as bytes."""
    result = read_array(Path(name))
    if result.ndim < 1 or not result.size:
        raise InputError(
            f"{name}: expected rows of numbers, found {result.shape} of {result.dtype}"
        )
    rows = np.ascontiguousarray(result).reshape(len(result), -1).view(np.uint8)
    if rows.shape[1] > MAX_ROW:
        raise InputError(
            f"{name}: a row must have at most {MAX_ROW} bytes: {rows.shape[1]};"
            " cut each into several (table.reshape), with an idx each"
        )
    return rows
