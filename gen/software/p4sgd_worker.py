"""Says what the host software of a P4SGD worker is made of, and what it must know of the build."""

from gen.guides.p4sgd_worker import CAUSES
from gen.software.software import Software
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.worker_params import Loss, WorkerParams
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie import MODEL_BASE
from hdl.u280.registers import board_fields
from hdl.u280.worker_board import LABELS, word_ports


def software(params: WorkerParams) -> Software:
    """Return the host software of a worker with ``params``."""
    beat, layout = model_bus(params).data_bits // 8, group_address(params)
    ports = [port for ports in word_ports(params) for port in ports]
    return Software(
        about="a P4SGD worker",
        map=worker_registers(params),
        main="Worker",
        modules=tuple(f"p4sgd.host.{name}" for name in ("worker", "job", "simulated_worker")),
        exports={
            "job": ("Job",),
            "quantise": ("Quantiser",),
            "worker": ("Worker", "WorkerStopped"),
        },
        build={
            "fixed": constants(params),
            "losses": {loss.name.lower(): loss.value for loss in Loss},
            "causes": {cause.name: why.replace("`", "") for cause, why in CAUSES.items()},
            "counters": tuple(COUNTERS),
            "words": tuple(port << CHANNEL_BITS for port in ports),
            "labels": LABELS << CHANNEL_BITS,
            "model": MODEL_BASE,
            "engine_stride": beat << layout["engine"].offset,
            "chunk_stride": beat << layout["chunk"].offset,
            "board": board_fields(),
        },
        reach="xdma",
        bench="p4sgd_worker",
        selftest="p4sgd.host.selftest",
    )
