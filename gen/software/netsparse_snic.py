"""Says what the host software of a NetSparse SNIC is made of, and what it knows of the build."""

from gen.guides.netsparse_snic_uses import CAUSES, FAULTS
from gen.software.software import Software
from hdl.common.rings import SIZE_BITS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS
from hdl.u280.registers import board_fields


def software(params: SnicParams) -> Software:
    """Return the host software of a SNIC with ``params``."""
    return Software(
        about="a NetSparse SNIC",
        map=snic_registers(params),
        main="Snic",
        modules=(
            "netsparse.host.snic.snic",
            "netsparse.host.snic.simulated_snic",
            *["host.host_memory"] * params.over_pcie,
        ),
        exports={"snic": ("GatherFailed", "Snic", "Table")},
        build={
            "fixed": constants(params),
            "address_bits": params.rig.address_bits,
            "causes": {cause.name: why.replace("`", "") for cause, why in CAUSES.items()},
            "cause_names": {cause.value: cause.name for cause in CAUSES},
            "faults": {fault.name: why.replace("`", "") for fault, why in FAULTS.items()},
            "most_places": 1 << (1 << SIZE_BITS) - 1,
            "board": board_fields(pauses=True, msix=params.over_pcie),
            "unit_counters": tuple(name for name, _ in UNIT_COUNTERS.counters),
            "snic_counters": tuple(name for name, _ in SNIC_COUNTERS.counters),
        },
        reach="vfio",
        bench="netsparse_snic",
        selftest="netsparse.host.snic.selftest",
    )
