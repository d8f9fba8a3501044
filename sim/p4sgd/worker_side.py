"""Describes the host's side of a P4SGD worker."""

from gen.base.comments import meanings, plain
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.worker_params import Loss, WorkerParams
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie import MODEL_BASE
from hdl.u280.worker_board import LABELS, word_ports
from sim.harness.host_side import HostSide
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.worker import Worker


def worker_side(params: WorkerParams) -> HostSide:
    """Return the host's side of a worker with ``params``, whose memories lie as on the card."""
    beat, layout = model_bus(params).data_bits // 8, group_address(params)
    ports = [port for ports in word_ports(params) for port in ports]
    return HostSide(
        map=worker_registers(params),
        main=Worker,
        build_type=Build,
        build={
            "fixed": constants(params),
            "losses": {loss.name.lower(): loss.value for loss in Loss},
            "causes": {cause.name: plain(why) for cause, why in meanings(Cause).items()},
            "counters": tuple(COUNTERS),
            "words": tuple(port << CHANNEL_BITS for port in ports),
            "labels": LABELS << CHANNEL_BITS,
            "model": MODEL_BASE,
            "engine_stride": beat << layout["engine"].offset,
            "chunk_stride": beat << layout["chunk"].offset,
        },
    )
