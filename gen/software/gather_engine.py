"""Says what the host software of a gather engine is made of, and what it knows of the build."""

from gen.guides.gather_engine_uses import CAUSES, FAULTS, OUTCOMES
from gen.software.software import Software
from hdl.gather.engine_counters import ENGINE_COUNTERS
from hdl.gather.engine_params import COMPLETION, DESCRIPTOR, GatherEngineParams
from hdl.gather.params import MOST_ROW, ReadOrder
from hdl.gather.registers import constants, engine_registers


def software(params: GatherEngineParams) -> Software:
    """Return the host software of an engine with ``params``."""
    told = {one.name: why.replace("`", "") for one, (why, _) in {**CAUSES, **OUTCOMES}.items()}
    return Software(
        about="a gather engine",
        map=engine_registers(params),
        main="Engine",
        modules=("gather.host.gather_engine", "gather.host.ring", "gather.host.simulated_engine"),
        exports={
            "gather_engine": ("Engine", "GatherFailed"),
            "request": ("Completion", "Request", "Table"),
            "ring": ("Ring", "RingStopped"),
        },
        build={
            "fixed": constants(params),
            "most_row_bytes": MOST_ROW,
            "completion": {name: (field.offset, field.width) for name, field in COMPLETION},
            "descriptor": {name: (field.offset, field.width) for name, field in DESCRIPTOR},
            "outcomes": {one.value: one.name for one in OUTCOMES},
            "causes": {one.value: one.name for one in CAUSES},
            "faults": {one.value: why.replace("`", "") for one, (why, _) in FAULTS.items()},
            "why": told,
            "orders": tuple(order.name for order in ReadOrder),
            "counters": tuple(name for name, _ in ENGINE_COUNTERS.counters),
        },
        reach="vfio",
        interrupts=True,
        bench="gather_engine",
        selftest="gather.host.selftest",
    )
