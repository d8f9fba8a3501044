"""Defines the functional bins of the gather engine."""

from hdl.common.axi import FOUR_KB
from hdl.gather.params import LINE, SECTOR, ReadOrder
from sim.functional.unit_bins import UnitGroup

#: Address of the first and of the last byte of the row of an idx.
FIRST = "(table.base + table.stride * idxs_payload.idx)"
LAST = f"({FIRST} + table.row_bytes - 1)"

PLACES = {
    "at a line": f"{FIRST} % {LINE} == 0",
    "at a sector": f"{FIRST} % {LINE} != 0 and {FIRST} % {SECTOR} == 0",
    "within a sector": f"{FIRST} % {SECTOR} != 0",
    "of one sector": f"{FIRST} // {SECTOR} == {LAST} // {SECTOR}",
    "of several lines": f"{FIRST} // {LINE} != {LAST} // {LINE}",
    "across 4 KB": f"{FIRST} // {FOUR_KB} != {LAST} // {FOUR_KB}",
}
IS_INSIDE = "idxs_payload.idx < table.rows"

ROWS = UnitGroup(
    name="rows by order of reads",
    when=("idxs_valid", "idxs_ready"),
    bins={
        f"{order.name}, {name}": f"table.order.name == '{order.name}' and {IS_INSIDE} and {place}"
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
