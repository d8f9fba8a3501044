"""Describes the host's side of a NetSparse switch."""

from collections.abc import Mapping

from gen.base.comments import plain
from hdl.netsparse.property_cache.params import SEGMENT_BYTES
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.registers import constants, switch_registers
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.harness.host_side import HostSide
from sim.netsparse.host.switch.build import Build
from sim.netsparse.host.switch.netsparse_switch import NetSparseSwitch

FAULTS = ("no_route", "short", "cut", "_dropped_", "passed_by")  #: parts of the names of counters


def switch_side(params: NetSparseSwitchParams, texts: Mapping[str, str] | None = None) -> HostSide:
    """Return the host's side of a switch; ``texts`` say what its counters count, by name."""
    ports, pipes = (
        {name: plain((texts or {}).get(name, "")) for name, _ in bank.counters}
        for bank in (PORT_COUNTERS, PIPE_COUNTERS)
    )
    return HostSide(
        map=switch_registers(params),
        main=NetSparseSwitch,
        build_type=Build,
        build={
            "fixed": constants(params),
            "most_delay": params.most_delay,
            "most_cached_bytes": SEGMENT_BYTES * params.cache.segments if params.pipes else 0,
            "port_counters": ports,
            "pipe_counters": pipes,
            "faults": tuple(
                name for name in (*ports, *pipes) if any(part in name for part in FAULTS)
            ),
        },
    )
