"""Describes the host's side of P4SGD's and MINA's switches."""

from gen.base.comments import by_name
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.registers import constants, switch_registers
from hdl.switch.control_port import CONTROL_COUNTERS
from hdl.switch.params import WHY_REFUSED
from hdl.switch.port_counters import PORT_COUNTERS
from hdl.switch.tenancy_head import REASONS
from hdl.switch.tenant_counters import TENANT_COUNTERS
from sim.harness.host_side import HostSide
from sim.host.switch.build import Build
from sim.host.switch.mina_switch import MinaSwitch
from sim.host.switch.switch import Switch


def switch_side(params: SwitchParams) -> HostSide:
    """Return the host's side of a switch with ``params``, of tenants or not."""
    tenants = params.tenants
    reasons = REASONS if tenants else WHY_REFUSED
    return HostSide(
        map=switch_registers(params),
        main=MinaSwitch if tenants else Switch,
        build_type=Build,
        build={
            "fixed": constants(params),
            "verdicts": {item.name: item.value for item in params.verdict if item.name != "NONE"},
            "port_counters": tuple(PORT_COUNTERS),
            "queued": params.egress_fifo.capacity,
            "reasons": by_name(reasons),
            "tenant_counters": tuple(name for name, _ in TENANT_COUNTERS.counters if tenants),
            "control_counters": tuple(name for name, _ in CONTROL_COUNTERS.counters if tenants),
        },
    )
