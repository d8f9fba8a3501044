"""Says what the host software of a P4SGD worker is made of."""

from gen.software.kernels import worker_kernel
from gen.software.software import Software, of_side
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.registers import board_fields
from hdl.u280.worker_board import host_addresses
from sim.p4sgd.worker_side import worker_side


def software(params: WorkerParams) -> Software:
    """Return the host software of a worker with ``params``."""
    return Software(
        about="a P4SGD worker",
        **of_side(worker_side(params), board=board_fields(), **host_addresses(params)),
        modules=tuple(f"p4sgd.host.{name}" for name in ("worker", "job", "simulated_worker")),
        exports={
            "job": ("Job",),
            "quantise": ("Quantiser",),
            "worker": ("Worker", "WorkerStopped"),
        },
        reach="xdma",
        bench="p4sgd_worker",
        selftest="p4sgd.host.selftest",
        **worker_kernel(params),
    )
