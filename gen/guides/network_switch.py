"""Finds what the programming guide of a switch for every system says of its build."""

from typing import Any

from gen.guides.guide import board_facts, facts, filled, rows, said
from hdl.network_switch.engines import engines
from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.registers import own_registers, part_maps
from hdl.u280.cmac_ip import CAGES


def guide(params: NetworkSwitchParams) -> str:
    """Return the programming guide of a switch, in Markdown."""
    return filled("network_switch.md.j2", values(params))


def values(params: NetworkSwitchParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = own_registers(params)
    streams = {engine.name: engine.streams for engine in engines(params)}
    fields = [field for item in registers.registers for field in item.fields]
    paused = [each for own in streams.values() for each in own if each.priority is not None]
    kinds = (
        f"{s.name.removeprefix('axis_')} of NetSparse are priority {s.priority}" for s in paused
    )
    return {
        **facts(registers, registers.constants),
        "package": f"{registers.name}_host",
        "P": params.ports,
        "engines": [*streams],
        "classes": params.forwarding.classes,
        "beats": f"{params.forwarding.beats:,}",
        "headroom": params.forwarding.headroom,
        "lossless": ", ".join(kinds),
        "parts": [
            (page, name, map.name, f"{map.name}_host", len(streams.get(name, ())))
            for page, (name, map) in enumerate(part_maps(params).items(), start=1)
        ],
        "own_rows": list(rows(registers, {field.name: said(field) for field in fields})),
        **board_facts(
            "links paused_priority_0_0 pauses_priority_0_0",
            cages=CAGES,
            hbm=False,
            flow="priorities",
        ),
    }
