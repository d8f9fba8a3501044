"""Finds what the programming guide of a NetSparse SNIC says of its sizes, layouts and registers."""

from collections.abc import Iterator, Mapping
from typing import Any

from amaranth.lib import data

from gen.guides.guide import (
    byte_span,
    filled,
    lines,
    little_rows,
    number_of,
    resets,
    rows,
    spaced,
)
from gen.guides.netsparse_snic_uses import (
    CAUSES,
    COUNTED,
    COUNTS,
    DESCRIPTOR_USES,
    DROPS,
    ENTRY_USES,
    FAULTS,
    LAYER_USES,
    NODE,
    PR_USES,
    REQUEST,
    RINGS,
    STATE,
    UPPER_USES,
)
from hdl.common.core_clock import CORE_MHZ
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.host.params import LINE_BYTES as HOST_LINE_BYTES
from hdl.netsparse.idx_filter.params import LINE_BYTES, LINE_IDXS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.protocol import (
    CONCATENATION_LAYER,
    DO_NOT_FRAGMENT,
    IP_OFFSET,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    PR_LAYER,
    PRIORITIES,
    UDP_OFFSET,
    UPPER_BYTES,
    UPPER_LAYERS,
    Kind,
    dscp_ecn,
)
from hdl.netsparse.queue.descriptor_fetch import AHEAD
from hdl.netsparse.queue.params import (
    DESCRIPTOR,
    DESCRIPTOR_BYTES,
    ENTRY,
    ENTRY_BYTES,
    INDEX_BITS,
    NO_UNIT,
    SIZE_BITS,
)
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.snic_counters import CLASSES, SNIC_COUNTERS, UNIT_COUNTERS
from hdl.netsparse.work_queue import COMPLETIONS
from hdl.u280.pcie_ip import BRIDGE, BRIDGE_ID
from hdl.u280.registers import BASE, BoardRegistersParams, board_registers
from hdl.u280.snic_board import DRAM

#: of the known answer: a cluster of two nodes, and what node 0 asks for
MAC_BASE, IP_BASE = 0x0200_0000_0000, 0x0A00_0000
BOUNDARIES = (0, 100, 200)
KNOWN_IDXS = (3, 130, 130, 105, 199)
ASKED = (130, 105, 199)  #: each remote one once
BYTES = 8  #: of a property
IDX_ADDRESS, PROPERTY_ADDRESS, TAG, WATCHDOG = 0x1000, 0x4000, 7, 1_000_000
IDS = (0x100, 0x101, 0x102)  #: what the asking unit may have chosen
BOARD = {
    "links": "bit 0 reads 1 when packets pass",
    "memory_ready": "reads 1 when the SNIC's memory may be used",
    "interrupt_enable": "write 1 to let the SNIC's interrupt through",
}


def guide(params: SnicParams) -> str:
    """Return the programming guide of a SNIC, in Markdown."""
    return filled("netsparse_snic.md.j2", values(params))


def values(params: SnicParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers, rig = snic_registers(params), params.rig
    board = board_registers(BoardRegistersParams(cages=1, hbm=True, pauses=True))
    return {
        "params": params,
        "U": params.units,
        "nodes": rig.nodes,
        "identity": f"0x{constants(params)['identity']:08X}",
        "version": constants(params)["version"],
        "completions": COMPLETIONS,
        "ahead": AHEAD,
        "line_bytes": LINE_BYTES,
        "line_idxs": LINE_IDXS,
        "descriptor_bytes": DESCRIPTOR_BYTES,
        "entry_bytes": ENTRY_BYTES,
        "most_places": 1 << (1 << SIZE_BITS) - 1,
        "index_bits": INDEX_BITS,
        "no_unit": NO_UNIT,
        "header_bytes": PACKET_HEADER_BYTES,
        "pr_bytes": PR_BYTES,
        "descriptor": list(little_rows(DESCRIPTOR, DESCRIPTOR_USES)),
        "entry": list(little_rows(ENTRY, ENTRY_USES)),
        "upper": list(wire_rows(UPPER_LAYERS, UPPER_USES, 0)),
        "layer": list(wire_rows(CONCATENATION_LAYER, LAYER_USES, UPPER_BYTES)),
        "pr": list(wire_rows(PR_LAYER, PR_USES, 0)),
        "most_reads": (params.mtu - PACKET_HEADER_BYTES) // PR_BYTES,
        "kinds": {kind.name: kind.value for kind in Kind},
        "dscp": [dscp_ecn(priority) for priority in PRIORITIES],
        "priorities": PRIORITIES,
        "drops": DROPS,
        "causes": [(cause.value, cause.name, why) for cause, why in CAUSES.items()],
        "faults": [(fault.value, fault.name, why) for fault, why in FAULTS.items()],
        "unit_counters": [
            (k, name, COUNTED[name]) for k, (name, _) in enumerate(UNIT_COUNTERS.counters)
        ],
        "snic_counters": [
            (k, name, meaning(name)) for k, (name, _) in enumerate(SNIC_COUNTERS.counters)
        ],
        "registers": list(rows(registers, NODE)),
        "request": list(rows(registers, REQUEST)),
        "rings": list(rows(registers, RINGS)),
        "state": list(rows(registers, STATE)),
        "counters": list(rows(registers, COUNTS)),
        "resets": resets(registers),
        "board": list(rows(board, BOARD)),
        "board_base": f"0x{BASE:X}",
        "mhz": CORE_MHZ,
        "beat_bytes": BEAT_BYTES,
        "host_line_bytes": HOST_LINE_BYTES,
        "bar": dict(BRIDGE.config)["pf0_bar0_size"],
        "device": BRIDGE_ID,
        "channel": DRAM,
        "known": known_answer(),
    }


def wire_rows(
    layout: data.StructLayout, uses: Mapping[str, str], start: int
) -> Iterator[dict[str, str]]:
    """Yield bytes and use of each field of a header, in the order of the wire, from ``start``."""
    for name, field in reversed(list(layout)):
        first = start + (layout.size - field.offset - field.width) // 8
        constant = PACKET_CONSTANTS.get(name)
        use = uses[name] if constant is None else f"0x{constant:X}"
        yield {"bytes": byte_span(first, first + field.width // 8 - 1), "field": name, "use": use}


def meaning(name: str) -> str:
    """Return what a counter of the SNIC counts; those of both classes have one text."""
    for kind in CLASSES:
        rest = name.removeprefix(f"{kind}_")
        if rest == name:
            continue
        for start, text in (
            ("sent_prs_", "packets sent with so many PRs, and fewer than the next counter's"),
            ("dropped_", "packets dropped with this verdict"),
        ):
            if rest.startswith(start):
                return text
        return COUNTED[rest]
    return COUNTED[name]


def property_of(idx: int) -> bytes:
    """Return the property of an idx in the known answer: the idx, and its double, as words."""
    return idx.to_bytes(4, "little") + (2 * idx).to_bytes(4, "little")


def packet(kind: Kind, source: int, dest: int, prs: list[tuple[dict[str, int], bytes]]) -> bytes:
    """Return the packet that a SNIC sends with these PRs, each with its property behind it."""
    body = b"".join(number_of(PR_LAYER, pr).to_bytes(PR_BYTES, "big") + own for pr, own in prs)
    size = PACKET_HEADER_BYTES + len(body)
    upper = PACKET_CONSTANTS | {
        "destination_mac": MAC_BASE + dest,
        "source_mac": MAC_BASE + source,
        "dscp_ecn": dscp_ecn(PRIORITIES[kind is not Kind.READ]),
        "total_length": size - IP_OFFSET,
        "flags_fragment": DO_NOT_FRAGMENT,
        "source_ip": IP_BASE + source,
        "destination_ip": IP_BASE + dest,
        "udp_length": size - UDP_OFFSET,
    }
    layer = {"type": kind.value, "dest": dest, "len": BYTES, "prs": len(prs)}

    def header(checksum: int) -> bytes:
        fields = {"upper": upper | {"ip_checksum": checksum}, "concatenation": layer}
        return number_of(PACKET_HEADER, fields).to_bytes(PACKET_HEADER_BYTES, "big")

    words = memoryview(header(0)[IP_OFFSET:UDP_OFFSET])
    total = sum(int.from_bytes(words[k : k + 2], "big") for k in range(0, len(words), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header(total ^ 0xFFFF) + body


def known_answer() -> dict[str, Any]:
    """Return a small gather of two nodes, with its bytes in memory and on the wire."""
    descriptor = {
        "idx_address": IDX_ADDRESS,
        "property_address": PROPERTY_ADDRESS,
        "count": len(KNOWN_IDXS),
        "watchdog": WATCHDOG,
        "property_bytes": BYTES,
        "tag": TAG,
    }
    entry = {"tag": TAG, "cause": Cause.DONE.value, "consumer": 1, "phase": 1}
    asks = [{"src": 0, "idx": idx, "id": own} for idx, own in zip(ASKED, IDS, strict=True)]
    gives = [(ask | {"src": 1}, property_of(ask["idx"])) for ask in asks]
    return {
        "boundaries": BOUNDARIES,
        "mac": f"0x{MAC_BASE:012X}",
        "ip": f"0x{IP_BASE:08X}",
        "idxs": KNOWN_IDXS,
        "asked": ASKED,
        "ids": [f"0x{own:X}" for own in IDS],
        "bytes": BYTES,
        "tag": TAG,
        "watchdog": WATCHDOG,
        "idx_address": f"0x{IDX_ADDRESS:X}",
        "property_address": f"0x{PROPERTY_ADDRESS:X}",
        "array": spaced(b"".join(idx.to_bytes(4, "little") for idx in KNOWN_IDXS)),
        "descriptor": lines(number_of(DESCRIPTOR, descriptor).to_bytes(DESCRIPTOR_BYTES, "little")),
        "entry": spaced(number_of(ENTRY, entry).to_bytes(ENTRY_BYTES, "little")),
        "reads": lines(packet(Kind.READ, 0, 1, [(ask, b"") for ask in asks])),
        "responses": lines(packet(Kind.RESPONSE, 1, 0, gives)),
        "written": [
            (f"0x{PROPERTY_ADDRESS + idx * BYTES:X}", spaced(property_of(idx)), idx)
            for idx in ASKED
        ],
    }
