"""Describes the host's side of a gather engine."""

from gen.base.comments import by_name, meanings, plain
from hdl.common.rings import Fault
from hdl.gather.engine_counters import COUNTED
from hdl.gather.engine_params import COMPLETION, DESCRIPTOR, GatherEngineParams, Outcome
from hdl.gather.params import MAX_ROW, ReadOrder
from hdl.gather.registers import constants, engine_registers
from hdl.pcie.descriptors import Cause
from sim.gather.host.build import Build
from sim.gather.host.gather_engine import Engine
from sim.harness.host_side import HostSide


def engine_side(params: GatherEngineParams) -> HostSide:
    """Return the host's side of an engine with ``params``."""
    why = {**meanings(Cause), **meanings(Outcome)}
    return HostSide(
        map=engine_registers(params),
        main=Engine,
        build_type=Build,
        build={
            "fixed": constants(params),
            "most_row_bytes": MAX_ROW,
            "completion": {name: (field.offset, field.width) for name, field in COMPLETION},
            "descriptor": {name: (field.offset, field.width) for name, field in DESCRIPTOR},
            "outcomes": {item.value: item.name for item in Outcome},
            "causes": {item.value: item.name for item in Cause},
            "faults": {fault.value: plain(text) for fault, text in meanings(Fault).items()},
            "why": by_name(why),
            "orders": tuple(order.name for order in ReadOrder),
            "counters": tuple(COUNTED),
        },
    )
