"""Says what the host software of a NetSparse SNIC is made of."""

from gen.software.kernels import kernel_of
from gen.software.software import Software, of_side
from hdl.netsparse.params import SnicParams
from hdl.u280.registers import board_fields
from hdl.vitis.kernels import SnicKernel
from sim.netsparse.snic_side import snic_side


def software(params: SnicParams) -> Software:
    """Return the host software of a SNIC with ``params``."""
    return Software(
        about="a NetSparse SNIC",
        **of_side(snic_side(params), board=board_fields(flow="kinds", msix=params.over_pcie)),
        modules=(
            "netsparse.host.snic.snic",
            "netsparse.host.snic.batch_tuner",
            "netsparse.host.snic.simulated_snic",
            *["host.host_memory"] * params.over_pcie,
        ),
        exports={
            "snic": ("Snic", "Table"),
            "batch_tuner": ("BatchTuner",),
            "request": ("Completion", "Request"),
            "request_runner": ("GatherFailed",),
        },
        reach="vfio",
        bench="netsparse_snic",
        selftest="netsparse.host.snic.selftest",
        **kernel_of(SnicKernel, params, reserved={"dram": 1 << params.dram_address_bits}),
    )
