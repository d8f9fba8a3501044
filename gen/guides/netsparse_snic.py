"""Finds what the programming guide of a NetSparse SNIC says of its sizes, layouts and registers."""

from typing import Any

from gen.guides import netsparse_snic_uses as uses
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
from gen.guides.netsparse_packets import (
    IP_BASE,
    MAC_BASE,
    meaning,
    packet,
    packet_values,
    property_of,
)
from hdl.common.rings import DESCRIPTOR_BYTES, INDEX_BITS, SIZE_BITS, Fault
from hdl.netsparse.host.params import LINE_BYTES as HOST_LINE_BYTES
from hdl.netsparse.idx_filter.params import LINE_BYTES, LINE_IDXS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.protocol import Kind
from hdl.netsparse.queue.descriptor_fetch import AHEAD
from hdl.netsparse.queue.params import DESCRIPTOR, ENTRY, ENTRY_BYTES, NO_UNIT
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS
from hdl.netsparse.work_queue import COMPLETIONS
from hdl.u280.pcie_ip import BRIDGE, BRIDGE_ID
from hdl.u280.snic_board import DRAM

#: of the known answer: a cluster of two nodes, and what node 0 asks for
BOUNDARIES = (0, 100, 200)
KNOWN_IDXS = (3, 130, 130, 105, 199)
REQUESTED = (130, 105, 199)  #: each remote one once
BYTES = 8  #: of a property
IDX_ADDRESS, PROPERTY_ADDRESS, TAG, WATCHDOG = 0x1000, 0x4000, 7, 1_000_000
IDS = (0x100, 0x101, 0x102)  #: what the asking unit may have chosen
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "registers": "memory_timeout limits mechanisms server_units delays node mac_base ip_base first"
    " end columns boundary_node boundary filter_address served_address served_bytes",
    "request": "request idx_address idx_count property_address property_bytes watchdog",
    "rings": "rings request_ring_address completion_ring_address doorbells",
    "state": "identity version sizes network_sizes commands state buses busy_units completion"
    " ring_state ring_indices",
    "counters": "counter_select unit_count snic_count",
}
ALSO = {"units": "U", "share": "over a bridge it has no effect"}
BOARD = "links memory_ready interrupt_enable interrupt_silent interrupts_late"


def guide(params: SnicParams) -> str:
    """Return the programming guide of a SNIC, in Markdown."""
    return filled("netsparse_snic.md.j2", values(params))


def values(params: SnicParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers, rig = snic_registers(params), params.rig
    return {
        **packet_values(params.mtu),
        "params": params,
        "U": params.units,
        "nodes": rig.nodes,
        **facts(registers, constants(params)),
        "completions": COMPLETIONS,
        "ahead": AHEAD,
        "line_bytes": LINE_BYTES,
        "line_idxs": LINE_IDXS,
        "descriptor_bytes": DESCRIPTOR_BYTES,
        "entry_bytes": ENTRY_BYTES,
        "most_places": 1 << (1 << SIZE_BITS) - 1,
        "index_bits": INDEX_BITS,
        "no_unit": NO_UNIT,
        "descriptor": list(little_rows(DESCRIPTOR, uses.DESCRIPTOR_USES)),
        "entry": list(little_rows(ENTRY, uses.ENTRY_USES)),
        "drops": uses.DROPS,
        "causes": reported(Cause),
        "faults": reported(Fault),
        "unit_counters": counted(UNIT_COUNTERS, uses.COUNTED),
        "snic_counters": [
            (k, name, meaning(name)) for k, (name, _) in enumerate(SNIC_COUNTERS.counters)
        ],
        **tables(registers, TABLES, ALSO),
        **board_facts(BOARD, cages=1, hbm=True, flow="kinds", msix=params.over_pcie),
        "host_line_bytes": HOST_LINE_BYTES,
        "bar": dict(BRIDGE.config)["pf0_bar0_size"],
        "device": BRIDGE_ID,
        "channel": DRAM,
        "known": known_answer(),
    }


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
    demands = [{"src": 0, "idx": idx, "id": own} for idx, own in zip(REQUESTED, IDS, strict=True)]
    gives = [(issue | {"src": 1}, property_of(issue["idx"])) for issue in demands]
    return {
        "boundaries": BOUNDARIES,
        "mac": f"0x{MAC_BASE:012X}",
        "ip": f"0x{IP_BASE:08X}",
        "idxs": KNOWN_IDXS,
        "asked": REQUESTED,
        "ids": [f"0x{own:X}" for own in IDS],
        "bytes": BYTES,
        "tag": TAG,
        "watchdog": WATCHDOG,
        "idx_address": f"0x{IDX_ADDRESS:X}",
        "property_address": f"0x{PROPERTY_ADDRESS:X}",
        "array": spaced(b"".join(idx.to_bytes(4, "little") for idx in KNOWN_IDXS)),
        "descriptor": lines(number_of(DESCRIPTOR, descriptor).to_bytes(DESCRIPTOR_BYTES, "little")),
        "entry": spaced(number_of(ENTRY, entry).to_bytes(ENTRY_BYTES, "little")),
        "reads": lines(packet(Kind.READ, 0, 1, BYTES, [(issue, b"") for issue in demands])),
        "responses": lines(packet(Kind.RESPONSE, 1, 0, BYTES, gives)),
        "written": [
            (f"0x{PROPERTY_ADDRESS + idx * BYTES:X}", spaced(property_of(idx)), idx)
            for idx in REQUESTED
        ],
    }
