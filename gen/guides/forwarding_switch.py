"""Finds what the programming guide of a forwarding switch says of its build."""

from collections.abc import Iterator
from typing import Any

from gen.guides.guide import board_facts, facts, filled, tables
from hdl.common.packets import BEAT_BYTES
from hdl.switch.forwarding.counters import COUNTERS, FCS_BYTES, KINDS, RANGES
from hdl.switch.forwarding.ingress import CAUSES
from hdl.switch.forwarding.params import DSCPS, GROUPS, WAYS, ForwardingParams
from hdl.switch.forwarding.port_scheduler import QUANTUM_SHIFT
from hdl.switch.forwarding.registers import constants, forwarding_registers
from hdl.switch.forwarding.switch import LEARNING_DEPTH, ForwardingSwitch
from hdl.u280.cmac_ip import CAGES
from hdl.u280.pcie_ip import BRIDGE, BRIDGE_ID

#: registers of each table
TABLES = {
    "state_rows": "identity version sizes commands state port_state",
    "settings_rows": "chosen port_settings share_settings vlan_settings code_settings port_shown"
    " share_shown vlan_shown code_shown",
    "limits_rows": "flooding pausing lossless_classes switch_address learning_mode ageing",
    "mac_rows": "table_mac table_key table_place table_reply table_mac_now",
    "counters_rows": "counter_select port_count table_moved table_full table_aged",
}
#: why a packet does not leave, in the order in which causes are looked for
DROPPED = {
    **CAUSES,
    "no_room": "its class is not lossless, and has no room at its port",
    "foreign": "it is for `switch_address`, and no engine takes it",
}


def guide(params: ForwardingParams) -> str:
    """Return the programming guide of a switch, in Markdown."""
    return filled("forwarding_switch.md.j2", values(params))


def values(params: ForwardingParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = forwarding_registers(params)
    return {
        "params": params,
        "package": f"{registers.name}_host",
        "P": params.ports,
        "C": params.classes,
        "R": params.rows,
        "ways": WAYS,
        "groups": GROUPS,
        "dscps": DSCPS,
        "beat": BEAT_BYTES,
        "quantum": 1 << QUANTUM_SHIFT,
        "longest": params.max_bytes + FCS_BYTES,
        "latency": ForwardingSwitch(params).latency,
        "unknown": LEARNING_DEPTH,
        "ready": max(params.beats, params.rows),
        "unit_us": params.age_cycles / 250,
        **facts(registers, constants(params)),
        **tables(registers, TABLES, {}),
        "counters": list(counters()),
        **board_facts(
            "links paused_priority_0_0 pauses_priority_0_0",
            cages=CAGES,
            hbm=False,
            flow="priorities",
        ),
        "bar": dict(BRIDGE.config)["pf0_bar0_size"],
        "device": BRIDGE_ID,
        "cages": CAGES,
    }


def counters() -> Iterator[tuple[int, str, str]]:
    """Yield number, name and meaning of each counter of a port."""
    for number, (name, _) in enumerate(COUNTERS.counters):
        yield number, name, meaning(*name.split("_", 1))


def meaning(way: str, name: str) -> str:
    """Return what the counter of a name counts; ``way`` is in, out or learning."""
    if way == "learning":
        return "packets whose addresses were not learned, as others came too fast"
    if name == "discards":
        return "packets that did not leave whole, as the port was down"
    if name in DROPPED:
        return f"packets that do not leave: {DROPPED[name]}"
    moves = "have come" if way == "in" else "have left"
    if name == "octets":
        return f"bytes of packets that {moves}, with checksums"
    if name.startswith("pkts_from_"):
        least = int(name.rpartition("_")[2])
        behind = [each for each in RANGES if each > least]
        span = f"of {least} to {behind[0] - 1} bytes" if behind else f"of {least} bytes and more"
        span = span.replace(f"{least} to {least} ", f"{least} ")
        return f"packets {span} that {moves}, with checksums"
    kind = next(kind for kind in KINDS if name == f"{kind}_pkts")
    good = "good " if way == "in" else ""
    return f"{good}{kind} packets that {moves}"
