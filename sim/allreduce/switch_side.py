"""Describes the host's side of a switch of AllReduces of many numbers."""

from gen.base.comments import by_name
from hdl.allreduce.registers import constants, switch_registers
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.allreduce.wide_params import WideVerdict
from hdl.switch.params import WHY_REFUSED
from hdl.switch.port_counters import PORT_COUNTERS
from sim.harness.host_side import HostSide
from sim.host.switch.build import Build
from sim.host.switch.switch import Switch


def switch_side(params: AllReduceSwitchParams) -> HostSide:
    """Return the host's side of a switch with ``params``."""
    return HostSide(
        map=switch_registers(params),
        main=Switch,
        build_type=Build,
        build={
            "fixed": constants(params),
            "verdicts": {item.name: item.value for item in WideVerdict if item.name != "NONE"},
            "port_counters": tuple(PORT_COUNTERS),
            "reasons": by_name(WHY_REFUSED),
        },
    )
