"""Puts a switch, whose tables are in memory, on RAMs: one design for a simulation."""

from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.switchgnn.table_rams import add_rams, empty_rams, ram_members

BUSES = "m_axi_tables"


class SwitchOnRams(Component):
    """Connects a :class:`GnnSwitch` to a RAM at each of its buses; its other ports are its own."""

    def __init__(self, params: GnnSwitchParams) -> None:
        inner = dict(GnnSwitch(params).signature.members)
        del inner[BUSES]
        self.inherited = list(inner)
        super().__init__(params, inner | ram_members(params.table_memory))

    def build(self, m: Module) -> None:
        switch: Any = GnnSwitch(self.params)
        m.submodules.switch = switch
        for name in self.inherited:
            outer, inner = getattr(self, name), getattr(switch, name)
            pairs = zip(outer, inner, strict=True) if "axis" in name else [(outer, inner)]
            for port, placed in pairs:
                connect(m, flipped(port), placed)
        add_rams(m, self.params.table_memory, self, switch.m_axi_tables)


def switch_of(params: GnnSwitchParams) -> Component:
    """Return the switch as it is simulated: with RAMs if its tables are in memory."""
    return SwitchOnRams(params) if params.in_memory else GnnSwitch(params)


def sources_of(params: GnnSwitchParams) -> dict[str, Any]:
    """Return build options for :func:`switch_of`."""
    return {"extra_sources": [RAM_ARRAY]} if params.in_memory else {}


def arguments_of(params: GnnSwitchParams, folder: Path) -> list[str]:
    """Return simulation arguments for :func:`switch_of`."""
    return empty_rams(params.table_memory, folder) if params.in_memory else []
