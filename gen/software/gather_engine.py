"""Says what the host software of a gather engine is made of."""

from gen.software.kernels import CHANNEL_BYTES, kernel_of
from gen.software.software import Software, of_side
from hdl.gather.engine_params import GatherEngineParams
from hdl.vitis.kernels import GatherKernel
from sim.gather.engine_side import engine_side


def software(params: GatherEngineParams) -> Software:
    """Return the host software of an engine with ``params``."""
    size = min(CHANNEL_BYTES, 1 << params.address_bits)
    tables = {"pipeline": ("Pipeline",), "unified_table": ("UnifiedTable",)}
    return Software(
        about="a gather engine",
        **of_side(engine_side(params)),
        modules=(
            "gather.host.gather_engine",
            "gather.host.ring",
            *["gather.host.simulated_engine"] * params.over_pcie,
            *["gather.host.torch_loader"] * params.to_host,
        ),
        exports={
            "gather_engine": ("Engine", "GatherFailed"),
            "request": ("Completion", "Request", "Table"),
            "ring": ("Ring", "RingStopped"),
            **(tables if params.to_host else {}),
        },
        reach="vfio",
        interrupts=True,
        bench="gather_engine" if params.over_pcie else "",
        selftest="gather.host.selftest",
        **kernel_of(GatherKernel, params, lambda place: {}, {"device": size}),
    )
