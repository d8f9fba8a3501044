"""Keeps a table where a card reads it, and indexes it through a gather engine."""

import os
from itertools import count
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.gather.host.gather_engine import Engine
from sim.gather.host.request import COMPLETION_BYTES, MAX_TAG, Request, Table, check_request
from sim.gather.host.ring import Ring
from sim.host.device import DeviceError

OWN, PING, PONG = BUFFERS = range(3)  #: that of indexing, and both of a pipeline
MOST_IDX_BYTES = 8
PIECE = 1 << 20  #: bytes of a table, about, that are copied at a time


class UnifiedTable:
    """Is the paper's unified tensor (3.1) as an array: ``table[idx]`` gathers rows by an engine.

    ``rows`` is an array [row, ...] of items of a fixed size. It is copied once, into the memory
    that the card sees, whatever its strides were; items stay as they are. From ``address`` on
    there are buffers of ``most`` rows, then the table; ``end`` is the first address behind it,
    where another table can begin. Rows that were gathered are copied from their buffer into the
    array that is returned, which is the caller's.

    Requests go by ``ring`` if one is given, or else by registers, in the order of reads ``order``.
    Several threads may index. ValueError if the table cannot be in this memory, or if the build
    does not post rows into it, as those of ``outputs`` = ``host`` and ``all`` do.
    """

    def __init__(
        self,
        engine: Engine,
        rows: ArrayLike,
        *,
        address: int = 0,
        most: int = 1024,
        ring: Ring | None = None,
        order: str = "MERGED",
    ) -> None:
        content = np.asarray(rows)
        if not content.ndim or not content.size or content.dtype.hasobject:
            raise ValueError("a table has rows, of items of a fixed size")
        self.engine, self.most, self.order = engine, most, order
        self.dtype, self.shape = content.dtype, content.shape
        size = content.nbytes // len(content)
        self._completions = aligned(address)
        self._idxs = aligned(self._completions + len(BUFFERS) * COMPLETION_BYTES)
        self._rows = aligned(self._idxs + len(BUFFERS) * most * MOST_IDX_BYTES)
        place = aligned(self._rows + len(BUFFERS) * most * size)
        self.table = Table(address=place, rows=len(content), row_bytes=size)
        self.end = place + content.nbytes
        self.pair = Lock()  #: held by who uses the two buffers of a pipeline
        self._own, self._tags, self._process = Lock(), count(), os.getpid()
        self._submit = (ring or engine).submit
        check_request(self._request(most, OWN), engine.build)
        step = max(1, PIECE // size)
        for first in range(0, len(content), step):
            piece = content[first : first + step].tobytes()
            engine.device.write_memory(place + first * size, piece)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, idx: Any) -> NDArray[Any]:
        """Return rows as NumPy's ``rows[idx]`` does, for an integer, a slice or a list of integers.

        Idxs from -len(table) on count from the end. IndexError for an idx that is not in the
        table, and for idxs of another kind, such as masks.
        """
        idxs = np.arange(*idx.indices(len(self))) if isinstance(idx, slice) else np.asarray(idx)
        if not idxs.ndim:
            return self[idxs.reshape(1)][0]
        idxs = self.checked(idxs)
        result = np.empty((len(idxs), self.table.row_bytes), np.uint8)
        with self._own:
            for first in range(0, len(idxs), self.most):
                request = self.begin(idxs[first : first + self.most], OWN)
                self.finish(request)
                result[first : first + request.count] = self.engine.rows(request)
        return self._shaped(result)

    def checked(self, idx: ArrayLike) -> NDArray[np.signedinteger]:
        """Return idxs from 0 on, of 4 bytes if they had at most 4, else of 8; or IndexError."""
        idxs, rows = np.asarray(idx), len(self)
        if idxs.ndim == 1 and not idxs.size:
            return np.empty(0, np.int64)
        if idxs.ndim != 1 or idxs.dtype.kind not in "iu":
            raise IndexError(f"idxs must be a list of integers, not {idxs.dtype} {idxs.shape}")
        if (outside := idxs[(idxs < -rows) | (idxs >= rows)]).size:
            raise IndexError(f"index {outside[0]} is out of bounds for a table of {rows} rows")
        few = idxs.itemsize <= 4 and rows <= 1 << 31
        idxs = idxs.astype(np.int64)
        return np.where(idxs < 0, idxs + rows, idxs).astype(np.int32 if few else np.int64)

    def begin(self, idxs: NDArray[np.signedinteger], buffer: int) -> Request:
        """Let the engine gather rows of :meth:`checked` idxs into a buffer; return the request.

        ValueError for more idxs than a buffer has room for. DeviceError in another process than
        the one that made the table, as both would write the engine's registers.
        """
        if os.getpid() != self._process:
            raise DeviceError("one process drives an engine: num_workers must be 0")
        if len(idxs) > self.most:
            raise ValueError(f"{len(idxs)} idxs are more than the {self.most} of a buffer")
        request = self._request(len(idxs), buffer, idxs.itemsize)
        self.engine.put_idxs(idxs, request.idx_address, request.idx_bytes)
        self._submit(request)
        return request

    def finish(self, request: Request) -> None:
        """Wait until rows are in their buffer; GatherFailed or DeviceError if they do not come."""
        if beyond := self.engine.wait(request).beyond:
            raise DeviceError(f"the engine found {beyond} idxs that are not in the table")

    def rows(self, request: Request) -> NDArray[Any]:
        """Return a copy of the rows in a request's buffer."""
        return self._shaped(self.engine.rows(request).copy())

    def _request(self, size: int, buffer: int, idx_bytes: int = MOST_IDX_BYTES) -> Request:
        return Request(
            table=self.table,
            idx_address=self._idxs + buffer * self.most * MOST_IDX_BYTES,
            count=size,
            completion=self._completions + buffer * COMPLETION_BYTES,
            destination=self._rows + buffer * self.most * self.table.row_bytes,
            idx_bytes=idx_bytes,
            order=self.order,
            tag=next(self._tags) & MAX_TAG,
            posted=True,
        )

    def _shaped(self, rows: NDArray[np.uint8]) -> NDArray[Any]:
        return rows.reshape(-1).view(self.dtype).reshape(len(rows), *self.shape[1:])


def aligned(address: int) -> int:
    """Return the next multiple of 64 bytes."""
    return -(-address // 64) * 64
