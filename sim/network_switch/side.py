"""Describes the host's side of a switch for every system."""

from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.registers import lost_counters, own_registers, part_maps, register_map
from sim.harness.host_side import HostSide
from sim.network_switch.host.build import Build
from sim.network_switch.host.network_switch import SharedSwitch

#: modules of the parts' packages that have their checks
CHECKS = {
    "forwarding": "program",
    "p4sgd": "selftest",
    "allreduce": "selftest",
    "switchgnn": "gnn_selftest",
    "netsparse": "selftest",
}


def switch_side(params: NetworkSwitchParams) -> HostSide:
    """Return the host's side of a switch with ``params``."""
    lost = lost_counters(params)
    return HostSide(
        map=register_map(params),
        main=SharedSwitch,
        build_type=Build,
        build={
            "fixed": own_registers(params).constants,
            "parts": {
                name: (page, f"{map.name}_host", CHECKS[name])
                for page, (name, map) in enumerate(part_maps(params).items(), start=1)
            },
            "lost": tuple(name for name, _ in lost.counters) if lost else (),
        },
    )
