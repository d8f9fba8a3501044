"""Describes the host's side of a forwarding switch."""

from hdl.switch.forwarding.counters import COUNTERS
from hdl.switch.forwarding.mac_table import HOST_OPERATIONS
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.registers import constants, forwarding_registers
from sim.forwarding.host.build import Build
from sim.forwarding.host.forwarding_switch import Forwarding
from sim.harness.host_side import HostSide


def forwarding_side(params: ForwardingParams) -> HostSide:
    """Return the host's side of a switch with ``params``."""
    return HostSide(
        map=forwarding_registers(params),
        main=Forwarding,
        build_type=Build,
        build={
            "fixed": constants(params),
            "operations": {item.name: item.value for item in HOST_OPERATIONS},
            "counters": tuple(name for name, _ in COUNTERS.counters),
        },
    )
