"""Reads the sparse matrix that ``scipy.sparse.save_npz`` wrote, and checks every index of it."""

from typing import Any

import numpy as np
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, dia_array

from sim.workloads.arrays import Archive
from sim.workloads.files import InputError, leave_out, reason

#: Maps a format to how it is made, and to its arrays of indices.
FORMATS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "csr": (csr_array, ("indices", "indptr")),
    "csc": (csc_array, ("indices", "indptr")),
    "bsr": (bsr_array, ("indices", "indptr")),
    "coo": (lambda parts, shape: coo_array((parts[0], parts[1:]), shape), ("row", "col")),
    "dia": (dia_array, ("offsets",)),
}
ROOM, ROOM_OF_ENTRY = 1 << 22, 64  #: rows that any file may have, and further ones for each entry


def sparse_of(archive: Archive) -> csr_array:
    """Return the square matrix of an archive, in any of scipy's formats, without stored zeros.

    Raises InputError for what is no matrix of finite numbers, and for indices that are outside it
    or do not fit each other.
    """
    path = archive.path
    if "format" not in archive:
        raise InputError(f"{path}: has no adjacency, which scipy.sparse.save_npz writes")
    kind = archive.take("format", "SU").item()
    kind = kind.decode(errors="replace") if isinstance(kind, bytes) else kind
    if kind not in FORMATS:
        raise InputError(f"{path}: format must be one of {', '.join(FORMATS)}, not {kind[:9]!r}")
    make, names = FORMATS[kind]
    rows, columns = (int(size) for size in archive.take("shape", "iu", 2))
    values = archive.take("data", "biufc", *["size"] * {"bsr": 3, "dia": 2}.get(kind, 1))
    if rows != columns or not values.size:
        what = f"must be square and have edges, is {rows} x {columns} with {values.size}"
        raise InputError(f"{path}: {what}")
    check_room(f"{path}:", rows, columns, values.size)
    values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    indices = [archive.take(name, "iu", "size").astype(np.int64) for name in names]
    try:
        # These checks are NumPy's; a kernel of SciPy's would follow a wrong index anywhere.
        built = make((values, *indices), (rows, columns))
        if "indptr" in names:
            built.check_format(full_check=True)
            if not indices[1][-1] == len(indices[0]) == len(values):
                raise ValueError(f"indptr ends at {indices[1][-1]} of {len(indices[0])} indices")
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: {', '.join(names)} do not fit ({reason(error)})") from None
    return without_zeros(path, csr_array(built.tocoo()))


def check_room(place: str, rows: int, columns: int, entries: int) -> None:
    """Raise InputError for a matrix of so many more rows than entries that no data are so."""
    if max(rows, columns) > (most := ROOM + ROOM_OF_ENTRY * entries):
        raise InputError(
            f"{place} {rows:,} x {columns:,} with {entries:,} entries: such a matrix has at most"
            f" {most:,} rows and columns; leave out those without entries"
        )


def without_zeros(path: Any, matrix: csr_array) -> csr_array:
    """Return the matrix without places that hold zero, and say how many there were."""
    stored = matrix.nnz
    matrix.eliminate_zeros()
    if zeros := stored - matrix.nnz:
        leave_out(f"{path}: {zeros:,} of {stored:,} entries, which hold zero")
    if not matrix.nnz:
        raise InputError(f"{path}: empty, every entry holds zero")
    return matrix
