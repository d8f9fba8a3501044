"""Describes the host's side of a SNIC."""

from hdl.common.rings import SIZE_BITS
from hdl.netsparse.meanings import CAUSES, FAULTS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS
from hdl.u280.registers import board_fields
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
            "causes": {cause.name: why.replace("`", "") for cause, why in CAUSES.items()},
            "cause_names": {cause.value: cause.name for cause in CAUSES},
            "faults": {fault.name: why.replace("`", "") for fault, why in FAULTS.items()},
            "most_places": 1 << (1 << SIZE_BITS) - 1,
            "board": board_fields(pauses=True, msix=params.over_pcie),
            "unit_counters": tuple(name for name, _ in UNIT_COUNTERS.counters),
            "snic_counters": tuple(name for name, _ in SNIC_COUNTERS.counters),
        },
    )
