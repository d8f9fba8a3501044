"""Defines the functional bins of the gather engine."""

from collections.abc import Callable

from hdl.common.axi import FOUR_KB
from hdl.gather.params import LINE, SECTOR, ReadOrder
from sim.functional.unit_bins import PortValues, UnitGroup


def first_byte(now: PortValues) -> int:
    """Return the address of the first byte of the row of the idx."""
    return now["table"]["base"] + now["table"]["stride"] * now["idxs_payload"]["idx"]


def is_inside(now: PortValues) -> bool:
    """Return whether the idx is in the table."""
    return now["idxs_payload"]["idx"] < now["table"]["rows"]


PLACES: dict[str, Callable[[int, int], bool]] = {  # by address of the row's first byte, and size
    "at a line": lambda first, size: first % LINE == 0,
    "at a sector": lambda first, size: first % LINE != 0 and first % SECTOR == 0,
    "within a sector": lambda first, size: first % SECTOR != 0,
    "of one sector": lambda first, size: first // SECTOR == (first + size - 1) // SECTOR,
    "of several lines": lambda first, size: first // LINE != (first + size - 1) // LINE,
    "across 4 KB": lambda first, size: first // FOUR_KB != (first + size - 1) // FOUR_KB,
}


def row(order: ReadOrder, place: Callable[[int, int], bool]) -> Callable[..., bool]:
    """Return the condition of a bin that a row at such a ``place`` is read in ``order``."""
    return lambda now, before: (
        now["table"]["order"] == order
        and is_inside(now)
        and place(first_byte(now), now["table"]["row_bytes"])
    )


ROWS = UnitGroup(
    name="rows by order of reads",
    ports=("table", "idxs_payload"),
    when=("idxs_valid", "idxs_ready"),
    bins={
        f"{order.name}, {name}": row(order, place)
        for order in ReadOrder
        for name, place in PLACES.items()
    },
)

IDXS = UnitGroup(
    name="idxs",
    when=("idxs_valid", "idxs_ready"),
    bins={
        "the table's first": "idxs_payload.idx == 0",
        "the table's last": "idxs_payload.idx == table.rows - 1",
        "the one behind it": "idxs_payload.idx == table.rows",
        "the largest": "(1 << idx_bits) - 1 == idxs_payload.idx >= table.rows",
        "the same again": (
            "idxs_payload.idx == before.idxs_payload.idx and not before.idxs_payload.final"
        ),
        "an array's only one": "idxs_payload.final and before.idxs_payload.final",
        "of rows that are joined": "joined",
    },
    sizes=lambda params: {"idx_bits": params.idx_bits},
)


BEGINS = "function_in_process and not before.function_in_process"
RESETS = UnitGroup(
    name="resets of the function",
    bins={
        "in the middle of traffic": f"{BEGINS} and function_master and (rq_tvalid or rc_tvalid)",
        "of what is no master": f"{BEGINS} and not function_master",
        "a completion comes during one": "function_in_process and rc_tvalid",
        "a completion comes for what is no master": (
            "rc_tvalid and not function_master and not function_in_process"
        ),
    },
)


GROUPS = {
    "hdl.gather.datapath.GatherDatapath": (ROWS, IDXS),
    "hdl.gather.engine.GatherEngine": (RESETS,),
}
