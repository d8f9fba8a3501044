"""Finds what the programming guide of SwitchGNN's endpoint says of its build and its registers."""

from typing import Any

from gen.guides import switchgnn_endpoint_uses as uses
from gen.guides.guide import (
    board_facts,
    counted,
    facts,
    filled,
    lines,
    little_rows,
    number_of,
    reported,
    spaced,
    tables,
)
from gen.guides.switchgnn_frames import SWITCH, WORKERS, frame, frame_values, shown
from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from hdl.switchgnn.endpoint.memory_layouts import (
    ALIGNMENT,
    WORD_BITS,
    SendRecord,
    SourceRecord,
    TurnRecord,
)
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import constants, endpoint_registers
from hdl.switchgnn.protocol import Kind, payload_bytes
from hdl.u280.pcie_ip import DMA

#: of the known answer: a worker at port 1 sends one feature and gets the sum of aggregator 1
JOB, EPOCH, PORT, AGGREGATOR = 1, 9, 1, 1
ADDRESSES = {"list": 0x0200, "features": 0x1000, "sums": 0x2000, "copies": 0x8000}
ADDRESSES |= {"required": 0x0400, "sources": 0x4000}
VERTEX, FEATURE, TOTAL = 8, (100, 200), (101, 198)
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "job_rows": "ready_turns own_address switch_address job worker turns open_turns program",
    "timers_rows": "send_timeout fetch_timeout fetch_gap done_timeout memory_timeout rate_control"
    " rate_most rate_least rate_step round_trip",
    "state_rows": "identity version sizes aggregators copies commands state buses lo sending rate",
    "counts_rows": "counter_select count",
}
ALSO = {"lanes": "L", "window": "W", "aggregators": "K", "copies": "C"}
BOARD = "links memory_ready interrupt_enable"


def guide(params: EndpointParams) -> str:
    """Return the programming guide of an endpoint, in Markdown."""
    return filled("switchgnn_endpoint.md.j2", values(params))


def values(params: EndpointParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = endpoint_registers(params)
    return {
        **frame_values(params.lanes),
        "params": params,
        "W": params.window,
        "K": params.aggregators,
        "C": params.copies,
        **facts(registers, constants(params)),
        "alignment": ALIGNMENT,
        "word_bits": WORD_BITS,
        "sum_words": params.sum_words,
        "words": params.words,
        "feature_bytes": payload_bytes(Kind.FEATURE, params.lanes),
        "partial_bytes": payload_bytes(Kind.PARTIAL, params.lanes),
        "turn_bytes": TurnRecord.as_shape().size // 8,
        "send_bytes": SendRecord.as_shape().size // 8,
        "source_bytes": SourceRecord.as_shape().size // 8,
        "turn": list(little_rows(TurnRecord.as_shape(), uses.TURN_USES)),
        "send": list(little_rows(SendRecord.as_shape(), uses.SEND_USES)),
        "source": list(little_rows(SourceRecord.as_shape(), uses.SOURCE_USES)),
        "states": reported(State),
        "causes": reported(Cause),
        "counters": counted(ENDPOINT_COUNTERS, uses.COUNTED),
        **tables(registers, TABLES, ALSO),
        **board_facts(BOARD, cages=1, hbm=True),
        "device": dict(DMA.config)["pf0_device_id"],
        "known": known_answer(params),
    }


def known_answer(params: EndpointParams) -> dict[str, Any]:
    """Return a turn of one worker: what lies in memory, and its frames one by one."""
    lanes = params.lanes
    same: dict[str, Any] = {"job": JOB, "epoch": EPOCH, "turn": 0, "bm": 1 << PORT}
    record = {"kind": Kind.FEATURE, "rows": 1, "list": 0, "source": VERTEX, "place": 0}
    sent = frame(
        Kind.FEATURE, lanes, to_switch=True, **same, list=0, rows=1, source=VERTEX, payload=FEATURE
    )
    result = frame(Kind.RESULT, lanes, to_switch=False, **same, list=AGGREGATOR, payload=TOTAL)
    memory = {
        "turn": octets(TurnRecord, ADDRESSES | {"sends": 1}),
        "send": octets(SendRecord, record),
        "source": octets(SourceRecord, {"own": 1, "place": 0}),
    }
    steps = (
        ("leaves", "FEATURE", sent),
        ("comes", "ACK", frame(Kind.ACK, lanes, to_switch=False, **same, seq=1)),
        ("comes", "RESULT", result),
        ("leaves", "DONE", frame(Kind.DONE, lanes, to_switch=True, **same)),
        ("comes", "ADVANCE", frame(Kind.ADVANCE, lanes, to_switch=False, **{**same, "turn": 1})),
    )
    total = b"".join(value.to_bytes(4, "little", signed=True) for value in TOTAL)
    return {
        "switch": spaced(SWITCH),
        "own": spaced(WORKERS),
        **same,
        "addresses": {name: f"0x{at:X}" for name, at in ADDRESSES.items()},
        "vertex": VERTEX,
        "aggregator": AGGREGATOR,
        "required": f"0x{1 << AGGREGATOR:08X}",
        "feature": spaced(b"".join(value.to_bytes(2, "little") for value in FEATURE)),
        "memory": {name: lines(item) for name, item in memory.items()},
        "source_at": f"0x{ADDRESSES['sources'] + VERTEX * 8:X}",
        "sum_at": f"0x{ADDRESSES['sums'] + AGGREGATOR * lanes * 4:X}",
        "sum": spaced(total),
        "steps": [{"way": path, "kind": kind, **shown(item)} for path, kind, item in steps],
    }


def octets(struct: Any, fields: dict[str, Any]) -> bytes:
    """Return a record as bytes in memory."""
    shape = struct.as_shape()
    return number_of(shape, fields).to_bytes(shape.size // 8, "little")
