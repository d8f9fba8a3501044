"""Says what the Pending PR Table does with idxs that come one after another and all stay."""

from collections.abc import Iterable
from functools import cache

from hdl.netsparse.rig.entry_rows import hashed, row_of
from hdl.netsparse.rig.pending_table import PendingTableParams


@cache
def rows_for(params: PendingTableParams, idx: int) -> list[int]:
    """Return the row of ``idx`` in each way."""
    digits = hashed([idx >> bit & 1 for bit in range(params.idx_bits)])
    rows = (row_of(digits, way) for way in range(params.used_ways))
    return [sum(int(bit) << k for k, bit in enumerate(row)) % params.rows for row in rows]


def entry_for(params: PendingTableParams, idx: int, taken) -> int | None:
    """Return the entry that ``idx`` gets beside those ``taken``: in the lowest way; or None."""
    entries = [row + way * params.rows for way, row in enumerate(rows_for(params, idx))]
    return next((entry for entry in entries if entry not in taken), None)


def filling(params: PendingTableParams, idxs: Iterable[int]) -> dict[int, int]:
    """Return the first of different ``idxs`` that fill an empty table, by the entries they get.

    Those that find none of their entries free are passed over.
    """
    result: dict[int, int] = {}
    idxs = iter(idxs)
    while len(result) < params.entries:
        idx = next(idxs)
        entry = entry_for(params, idx, result)
        if entry is not None and idx not in result.values():
            result[entry] = idx
    return result
