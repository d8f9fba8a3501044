"""Says what the host software of a switch for every system is made of: that of its parts."""

from dataclasses import replace

from gen.designs.catalogue import find_design
from gen.designs.design import load
from gen.software.software import Software, of_side
from hdl.network_switch.engines import engines
from hdl.network_switch.params import NetworkSwitchParams
from hdl.u280.cmac_ip import CAGES
from hdl.u280.registers import board_fields
from sim.network_switch.side import switch_side


def software(params: NetworkSwitchParams) -> Software:
    """Return the host software of a switch with ``params``, and the packages of its parts."""
    parts = {"forwarding": params.hub, **{each.name: each.params for each in engines(params)}}
    packages = [load(find_design(f"{n}-switch").software)(own) for n, own in parts.items()]
    return Software(
        about="a switch for all systems",
        **of_side(
            switch_side(params), board=board_fields(cages=CAGES, hbm=False, flow="priorities")
        ),
        modules=(
            *(f"network_switch.host.{name}" for name in ("network_switch", "hub_model")),
            "forwarding.host.simulated_hosts",
        ),
        exports={"network_switch": ("SharedSwitch",)},
        reach="register_window",
        bench="network_switch",
        selftest="network_switch.host.network_program",
        parts=[replace(part, kernel=None) for part in packages],
    )
