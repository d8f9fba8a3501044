"""Describes the host's side of a P4SGD worker."""

from dataclasses import replace
from typing import Any

from gen.base.comments import by_name, meanings
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.worker_params import Loss, WorkerParams
from sim.harness.host_side import HostSide
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.host.build import Build
from sim.p4sgd.host.capacity import Capacity
from sim.p4sgd.host.worker import Worker


def capacity(params: WorkerParams) -> list[dict[str, int]]:
    """Return the most data that a worker holds, by the precision in bits.

    The most features are those of one worker; more workers share them and hold as many each. The
    samples are the most that have so many features; if these are fewer, more samples fit.

    With ``params.classes`` above 1, all classes share what is read, and cycles are those of a
    micro-batch of so many features: of one pass for all classes, and of a pass for each class by
    all engines. Each pass reads all words.
    """
    rows = Capacity(fixed=constants(params)).rows()
    if params.classes == 1:
        return rows
    sizes = {"workers": 1, "banks": params.engine.banks, "lanes": params.engine.lanes}
    for row in rows:
        shared = Machine(engines=params.sets, classes=params.classes, bits=row["bits"], **sizes)
        alone = replace(shared, engines=params.engines, classes=1)
        row["cycles of one pass"] = shared.pace(row["features"])
        row[f"cycles of {params.classes} passes"] = params.classes * alone.pace(row["features"])
    return rows


def worker_side(params: WorkerParams, **card: Any) -> HostSide:
    """Return the host's side of a worker with ``params``.

    ``card`` has the fields of the build that only a card has; without it nothing but the weights
    has an address, which is 0.
    """
    beat, layout = model_bus(params).data_bits // 8, group_address(params)
    return HostSide(
        map=worker_registers(params),
        main=Worker,
        build_type=Build,
        build={
            "fixed": constants(params),
            "losses": {loss.name.lower(): loss.value for loss in Loss},
            "causes": by_name(meanings(Cause)),
            "counters": tuple(COUNTERS),
            "engine_stride": beat << layout["engine"].offset,
            "chunk_stride": beat << layout["chunk"].offset,
            **({"words": (), "labels": 0, "model": 0} | card),
        },
    )
