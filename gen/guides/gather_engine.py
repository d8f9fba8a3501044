"""Finds what the programming guide of a gather engine says of its sizes, layouts and registers."""

from collections.abc import Iterator, Mapping
from typing import Any

from gen.base.comments import meanings
from gen.guides.guide import (
    counted,
    facts,
    filled,
    little_rows,
    number_of,
    numbers,
    reported,
    spaced,
    tables,
)
from hdl.common.rings import DESCRIPTOR_BYTES, SIZE_BITS, Fault
from hdl.gather.engine_counters import COUNTED, ENGINE_COUNTERS
from hdl.gather.engine_params import (
    CHUNK,
    COMPLETION,
    COMPLETION_BYTES,
    DESCRIPTOR,
    REGISTER_ADDRESS_BITS,
    GatherEngineParams,
    Outcome,
)
from hdl.gather.params import LINE, MAX_ROW, SLOT_BITS, SLOTS, ReadOrder
from hdl.gather.registers import constants, engine_registers
from hdl.pcie.descriptors import Cause
from hdl.u280.gather_board import ROWS
from hdl.u280.pcie_block_ip import BAR_MEGABYTES
from hdl.u280.pcie_ip import BRIDGE_ID

#: of the known answer: a table whose row i holds i and 2 i, of 4 bytes each, with a gap behind it
TABLE_ROWS, ROW_BYTES, STRIDE = 100, 8, 12
KNOWN_IDXS = (3, 130, 99, 3)
IDX_ADDRESS, BASE, COMPLETION_ADDRESS, DESTINATION, TAG = 0x1000, 0x4000, 0x2000, 0x104, 7
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "settings": "memory_timeout limits",
    "request": "request idx_address count base rows row_bytes stride destination completion",
    "state": "identity version sizes commands state buses",
    "counters": "counter_choice engine_count",
    "ring": "ring request_ring_address ring_state request_producer request_consumer",
}
ALSO = {
    "kept_parts": "with 0 `coalesce` does nothing",
    "registers_silent": "program the card anew",
    "request_ring_cause": "by the table of causes; 0 if all could",
}
COMPLETION_USES = {
    "tag": "the request's tag",
    "outcome": "how the request ended, by the table of outcomes",
    "cause": "why the first read failed that did, by the table of causes; 0 if none did",
    "reserved": "zero",
    "beyond": "rows that are zero, as their idx is not in the table or could not be read",
    "failed": "other rows of which not everything could be read",
    "zero": "zero",
    "done": "1: the request has ended",
}
#: what the host does when a ring has stopped; an engine's never stops for another fault
AFTER_FAULT = {
    Fault.NONE: "nothing",
    Fault.ADDRESS: "correct `request_ring_address`",
    Fault.OVERRUN: "write no more descriptors than there is room for",
}
#: how a work request ends, in the order in which one counts of several, and what the host then does
AFTER_OUTCOME = {
    Outcome.ILLEGAL: "correct the request",
    Outcome.STOPPED: "submit it again if it is still wanted",
    Outcome.WRITE: "read `device_broken` and `stream_silent`, mend that, and submit it again",
    Outcome.IDXS: "look at the cause, mend it, and submit it again",
    Outcome.ROWS: "look at the cause, mend it, and submit it again",
    Outcome.DONE: "look at `beyond`, if all idxs should be in it",
}
#: what the host does when a read has failed
AFTER_CAUSE = {
    Cause.NONE: "nothing",
    Cause.POISONED: "look for errors of memory",
    Cause.UNSUPPORTED: "mend the address, or let the card see that memory",
    Cause.ABORTED: "read `device_broken`; look for errors of memory",
    Cause.LENGTH: "look for errors of the host",
    Cause.MISMATCH: "look for errors of the host",
    Cause.ADDRESS: "look for errors of the host",
    Cause.TIMEOUT: "submit again; see `reads_owed`",
    Cause.RESET: "submit again",
    Cause.CORRUPT: "submit again",
    Cause.STOPPED: "as for the outcome STOPPED",
}


def guide(params: GatherEngineParams) -> str:
    """Return the programming guide of a gather engine, in Markdown."""
    return filled("gather_engine.md.j2", values(params))


def values(params: GatherEngineParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = engine_registers(params)
    return {
        "params": params,
        **facts(registers, constants(params)),
        "max_row": MAX_ROW,
        **ends(params),
        "line": LINE,
        "chunk": CHUNK,
        "completion_bytes": COMPLETION_BYTES,
        "register_bytes": 1 << REGISTER_ADDRESS_BITS,
        "slot_bits": SLOT_BITS,
        "completion": list(little_rows(COMPLETION, COMPLETION_USES)),
        "done_bit": COMPLETION["done"].offset,
        "outcomes": advised(AFTER_OUTCOME),
        "causes": advised(AFTER_CAUSE),
        "orders": reported(ReadOrder),
        "counts": counted(ENGINE_COUNTERS, COUNTED),
        "kept": list(stored(params)),
        **tables(registers, TABLES, ALSO),
        "faults": advised(AFTER_FAULT),
        "descriptor": list(little_rows(DESCRIPTOR, numbers(registers) | {"reserved": "zero"})),
        "descriptor_bytes": DESCRIPTOR_BYTES,
        "most_places": 1 << (1 << SIZE_BITS) - 1,
        "bar": BAR_MEGABYTES,
        "device": BRIDGE_ID,
        "port": ROWS,
        "known": known_answer(),
    }


def ends(params: GatherEngineParams) -> dict[str, list[str]]:
    """Return where rows can go, and what the engine does with them, in words."""
    possible = (
        (params.to_memory, "device memory", "writes them to device memory"),
        (params.to_stream, "the stream", "hands them to a consumer on the card"),
        (params.to_host, "the bus", "writes them to host memory or to a peer on the bus"),
    )
    having = [item for item in possible if item[0]]
    return {"places": [place for _, place, _ in having], "uses": [use for *_, use in having]}


def advised(advice: Mapping[Any, str]) -> list[tuple[int, str, str, str]]:
    """Return number, name and meaning of members of an enumeration, and what the host then does."""
    said = meanings(type(next(iter(advice))))
    return [(item.value, item.name, said[item], do) for item, do in advice.items()]


def stored(params: GatherEngineParams) -> Iterator[tuple[int, int]]:
    """Yield the most bytes of a row, and how many such rows are kept, for each number of them."""
    result: dict[int, int] = {}
    for bits, most in enumerate(params.gather.row_limits()):
        slots = min(SLOTS, params.kept_parts >> bits)
        if most and slots > 1:
            result[slots] = most
    return ((most, slots) for slots, most in result.items())


def row(idx: int) -> bytes:
    """Return row ``idx`` of the known answer's table; that of an idx outside is zero."""
    known = idx < TABLE_ROWS
    return b"".join((known * value).to_bytes(4, "little") for value in (idx, 2 * idx))


def known_answer() -> dict[str, Any]:
    """Return a small gather, with its bytes in host and device memory."""
    missing = [idx for idx in KNOWN_IDXS if idx >= TABLE_ROWS]
    completion = {
        "tag": TAG,
        "outcome": Outcome.DONE.value,
        "cause": Cause.NONE.value,
        "beyond": len(missing),
        "done": 1,
    }
    number = number_of(COMPLETION, completion)
    result = [idx if idx < TABLE_ROWS else 0 for idx in KNOWN_IDXS]
    return {
        "idxs": KNOWN_IDXS,
        "missing": missing[0],
        "tag": TAG,
        "rows": TABLE_ROWS,
        "row_bytes": ROW_BYTES,
        "stride": STRIDE,
        "idx_address": f"0x{IDX_ADDRESS:X}",
        "base": f"0x{BASE:X}",
        "completion_address": f"0x{COMPLETION_ADDRESS:X}",
        "destination": f"0x{DESTINATION:X}",
        "array": spaced(b"".join(idx.to_bytes(4, "little") for idx in KNOWN_IDXS)),
        "reads": [(f"0x{IDX_ADDRESS:X}", 4 * len(KNOWN_IDXS))]
        + [(f"0x{BASE + STRIDE * idx:X}", ROW_BYTES) for idx in result],
        "written": [
            (f"0x{DESTINATION + ROW_BYTES * k:X}", spaced(row(idx)), idx)
            for k, idx in enumerate(KNOWN_IDXS)
        ],
        "completion": spaced(number.to_bytes(COMPLETION_BYTES, "little")),
    }
