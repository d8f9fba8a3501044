"""Describes the host's side of a SNIC."""

from gen.base.comments import by_name, meanings
from hdl.common.rings import SIZE_BITS, Fault
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.rig.params import Cause
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS
from sim.harness.host_side import HostSide
from sim.netsparse.host.snic.build import Build
from sim.netsparse.host.snic.snic import Snic


def snic_side(params: SnicParams) -> HostSide:
    """Return the host's side of a SNIC with ``params``."""
    return HostSide(
        map=snic_registers(params),
        main=Snic,
        build_type=Build,
        build={
            "fixed": constants(params),
            "address_bits": params.rig.address_bits,
            "queue": params.rig.commands,
            "causes": by_name(meanings(Cause)),
            "cause_names": {cause.value: cause.name for cause in Cause},
            "faults": by_name(meanings(Fault)),
            "most_places": 1 << (1 << SIZE_BITS) - 1,
            "unit_counters": tuple(name for name, _ in UNIT_COUNTERS.counters),
            "snic_counters": tuple(name for name, _ in SNIC_COUNTERS.counters),
        },
    )
