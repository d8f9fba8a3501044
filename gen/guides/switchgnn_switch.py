"""Finds what the programming guide of SwitchGNN's switch says of its build and its registers."""

from typing import Any

from gen.guides import switchgnn_switch_uses as uses
from gen.guides.guide import board_facts, counted, facts, filled, reported, spaced, tables
from gen.guides.switchgnn_frames import SWITCH, WORKERS, frame, frame_values, shown
from hdl.switchgnn.protocol import Kind
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.meanings import REASONS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import constants, gnn_switch_registers
from hdl.switchgnn.switch.sizes import ENTRY_BITS, INDEX_BITS, PROGRAM_STEPS
from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BYTES as TABLE_BEAT_BYTES
from hdl.switchgnn.switch.tables.table_writer import STEP_WORDS
from hdl.u280.cmac_ip import CAGES
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie_ip import BRIDGE, DMA

#: of the known answer: what workers 0 and 1 send
JOB, EPOCH = 1, 9
FEATURES = ((1, -2), (100, 200))
VALID = 1 << INDEX_BITS  #: bit of a list's entry that is 1 if the entry names an aggregator
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "settings_rows": "switch_address group_address acks ingress_mark egress_mark",
    "job_rows": "job job_ports job_base job_depth job_program job_list_base job_list_rows",
    "tables_rows": "table table_word",
    "state_rows": "identity version sizes depth table_sizes commands state active_jobs",
    "counts_rows": "counter_select verdict_count port_count total_count error_outside error_unused"
    " error_complete error_no_such_row first_error first_turn first_row first_aggregator",
    "memory_rows": "table_memory list_line descriptor_line table_timeout table_commands table_buses"
    " table_answers table_failures",
    "links_rows": "links link_timeout",
    "maxima_rows": "job_operation",
}
ALSO = {
    "jobs": "J",
    "banks": "P",
    "lanes": "L",
    "window": "W",
    "depth": "D",
    "table_ports": "N",
    "table": "0 lists, 1 descriptors, 2 the program of `job_number`",
}


def guide(params: GnnSwitchParams) -> str:
    """Return the programming guide of a switch, in Markdown."""
    return filled("switchgnn_switch.md.j2", values(params))


def values(params: GnnSwitchParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = gnn_switch_registers(params)
    return {
        **frame_values(params.lanes),
        "params": params,
        "package": f"{registers.name}_host",
        "P": params.banks,
        "D": params.slots,
        "W": params.window,
        "J": params.jobs,
        **facts(registers, constants(params)),
        "entry_bits": ENTRY_BITS,
        "index_bits": INDEX_BITS,
        "valid": VALID,
        "list_words": -(-params.banks * ENTRY_BITS // 32),
        "step_words": STEP_WORDS,
        "steps": PROGRAM_STEPS,
        "table_beat_bytes": TABLE_BEAT_BYTES,
        "verdicts": [
            (item.value, item.name, uses.VERDICTS[item.name])
            for item in params.verdict
            if item.name != "NONE"
        ],
        "judged": uses.JUDGED,
        "errors": [row for row in reported(TableError) if row[0] != TableError.NONE.value],
        "reasons": [(item.value, item.name, why) for item, why in REASONS.items()],
        "port_counters": counted(port_counters(params), uses.PORT_COUNTED),
        "total_counters": counted(TOTAL_COUNTERS, uses.TOTAL_COUNTED),
        **tables(registers, TABLES, ALSO),
        **board_facts("links", cages=CAGES, hbm=params.in_memory),
        "bar": dict(BRIDGE.config)["pf0_bar0_size"],
        "device": dict((DMA if params.in_memory else BRIDGE).config)["pf0_device_id"],
        "channel_mb": 1 << CHANNEL_BITS - 20,
        "cages": CAGES,
        "known": known_answer(params),
    }


def known_answer(params: GnnSwitchParams) -> dict[str, Any]:
    """Return a turn of two workers: its tables, and its frames one by one."""
    lanes, bank = params.lanes, params.banks - 1
    same: dict[str, Any] = {"job": min(JOB, params.jobs - 1), "epoch": EPOCH, "turn": 0}
    sends = [
        frame(
            Kind.FEATURE,
            lanes,
            to_switch=True,
            **same,
            bm=1 << port,
            list=0,
            rows=1,
            source=7 + port,
            payload=feature,
        )
        for port, feature in enumerate(FEATURES)
    ]

    def to_port(port: int, kind: Kind, **fields: Any) -> tuple[int, str, bytes]:
        octets = frame(kind, lanes, to_switch=False, **{**same, "bm": 1 << port, **fields})
        return port, kind.name, octets

    total = [a + b for a, b in zip(*FEATURES, strict=True)]
    acks = [to_port(port, Kind.ACK, seq=1) for port in range(2)]
    result = to_port(1, Kind.RESULT, list=bank, payload=total)
    dones = [frame(Kind.DONE, lanes, to_switch=True, **same, bm=1 << port) for port in range(2)]
    advances = [to_port(port, Kind.ADVANCE, turn=1) for port in range(2)]
    steps = (
        (0, "a FEATURE", sends[0], acks[:1]),
        (1, "a FEATURE", sends[1], [acks[1], result]),
        (0, "DONE", dones[0], []),
        (1, "DONE", dones[1], advances),
    )
    return {
        "switch": spaced(SWITCH),
        "group": spaced(WORKERS),
        **same,
        "aggregator": bank,
        "list": f"0x{VALID << ENTRY_BITS * bank:0{params.banks * ENTRY_BITS // 4}X}",
        "descriptor": f"0x{1 << 16 | 2:08X}",
        "steps": [
            {
                "port": port,
                "what": what,
                **shown(octets),
                "left": [{"port": to, "kind": kind, **shown(item)} for to, kind, item in left],
            }
            for port, what, octets, left in steps
        ],
    }
