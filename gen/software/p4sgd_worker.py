"""Says what the host software of a P4SGD worker is made of."""

from collections.abc import Mapping
from typing import Any

from gen.software.kernels import kernel_of
from gen.software.software import Software, of_side
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.registers import board_fields
from hdl.u280.worker_board import host_addresses
from hdl.vitis.kernels import WorkerKernel
from sim.p4sgd.worker_side import worker_side


def software(params: WorkerParams) -> Software:
    """Return the host software of a worker with ``params``."""

    def places(place: Mapping[str, int]) -> dict[str, Any]:
        words = tuple(place[f"words_{k}"] for k in range(params.sets * params.ports))
        same = {name: place[name] for name in ("labels", "model")}
        return {"words": words, **same, "labels_end": 0, "board": {}}

    weights = {f"weights_{k}": 1 << params.weight_address_bits for k in range(params.movers)}
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
        **kernel_of(WorkerKernel, params, places, weights),
        kernel_checks=("memory", "epoch"),
    )
