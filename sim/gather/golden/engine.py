"""Specifies a work request of the gather engine: what it writes, and what its completion says.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", 3.2: the accelerator itself reads the rows that the idxs name out of host memory,
where the array of idxs lies too; no processor gathers the rows before.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from sim.gather.golden.rows import Table, gather

MAX_ROW = 65536  #: bytes
ORDERS = 3  #: ways to read rows: merged, aligned, naive


class Outcome(IntEnum):
    """Names how a work request ends; of several reasons the first one here counts."""

    DONE = 0  #: everything was written
    ILLEGAL = 1  #: the request cannot be carried out, and nothing was written
    STOPPED = 5  #: the host has stopped it; some of the first bytes of its rows were written
    WRITE = 2  #: device memory refused some of it, or did not answer
    IDXS = 3  #: some idxs could not be read; their rows are zero
    ROWS = 4  #: some rows could not be read; what is missing of them is zero


@dataclass(frozen=True, kw_only=True)
class WorkRequest:
    """Describes a work request: which rows of which table go where."""

    idx_address: int  #: of the array, a multiple of idx_bytes
    count: int  #: of idxs
    table: Table  #: in host memory
    destination: int  #: of the first row, in device memory or on the bus; the others follow it
    completion_address: int = 0  #: of 16 bytes in host memory, a multiple of 16
    idx_bytes: int = 4  #: 4 or 8
    order: int = 0
    tag: int = 0  #: the host's name for the request
    coalesce: bool = False  #: rows of equal idxs that follow soon may be read once
    on_card: bool = False  #: the idxs are in device memory, not in the host's
    streamed: bool = False  #: rows go to a consumer on the card, not to device memory
    #: rows go by posted writes to a bus address, of host memory or a peer; excludes ``streamed``
    posted: bool = False

    def legal(self, idx_bits: int, device_bytes: int) -> bool:
        """Return whether an engine with idxs of ``idx_bits`` carries the request out."""
        table = self.table
        idx_end = self.idx_address + self.count * self.idx_bytes
        fits = self.destination + self.count * table.row_bytes <= device_bytes
        return (
            self.idx_address % self.idx_bytes == 0
            and self.completion_address % 16 == 0
            and 1 <= table.row_bytes <= MAX_ROW
            and 1 <= table.rows < 1 << idx_bits  # so the largest idx is in no table
            and 0 <= self.order < ORDERS
            and not (self.streamed and self.posted)
            and (self.streamed or self.posted or fits)
            and (not self.on_card or idx_end <= device_bytes)
        )

    def idxs(self, host: np.ndarray, device: np.ndarray) -> list[int]:
        """Return the idxs that the memories, bytes from address 0 on, have for the request."""
        end = self.idx_address + self.idx_bytes * self.count
        memory = device if self.on_card else host
        return memory[self.idx_address : end].view(f"<u{self.idx_bytes}").tolist()


@dataclass(frozen=True)
class Completion:
    """Holds what the host learns of a work request that has ended."""

    tag: int
    outcome: Outcome
    beyond: int  #: rows that are zero because their idx is not in the table


def written_until_stopped(before: np.ndarray, whole: np.ndarray, result: np.ndarray) -> bool:
    """Return whether device memory is as a request that was stopped may leave it.

    Rows are written in their order: of what the ``whole`` request changes, ``result`` has all up to
    some byte, and from there on what was there ``before``. All are uint8 from address 0 on.
    """
    wrong = np.flatnonzero(result != whole)
    return not len(wrong) or np.array_equal(result[wrong[0] :], before[wrong[0] :])


def carry_out(
    host: np.ndarray, device: np.ndarray, request: WorkRequest, idx_bits: int = 32
) -> Completion:
    """Write ``table[idx]`` of each idx into ``device``, row after row; return the completion.

    Rows that are posted go into ``host``, whose part of the bus begins at address 0; rows that are
    streamed go into neither (:func:`rows_of`). Both memories are uint8 from address 0 on. The row
    of an idx that is not in the table is zero.
    """
    if not request.legal(idx_bits, len(device)):
        return Completion(request.tag, Outcome.ILLEGAL, 0)
    rows = rows_of(host, device, request)
    if not request.streamed:
        content = b"".join(row for row, _ in rows)
        end = request.destination + len(content)
        memory = host if request.posted else device
        memory[request.destination : end] = np.frombuffer(content, np.uint8)
    return Completion(request.tag, Outcome.DONE, sum(beyond for _, beyond in rows))


def rows_of(host: np.ndarray, device: np.ndarray, request: WorkRequest) -> list[tuple[bytes, bool]]:
    """Return each row of a legal request, and whether it is zero as its idx is not in the table."""
    rows = gather(host, request.table, request.idxs(host, device))
    nothing = bytes(request.table.row_bytes)
    return [(nothing if row is None else row, row is None) for row in rows]
