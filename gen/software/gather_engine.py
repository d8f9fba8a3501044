"""Says what the host software of a gather engine is made of."""

from gen.software.software import Software, of_side
from hdl.gather.engine_params import GatherEngineParams
from sim.gather.engine_side import engine_side


def software(params: GatherEngineParams) -> Software:
    """Return the host software of an engine with ``params``."""
    return Software(
        about="a gather engine",
        **of_side(engine_side(params)),
        modules=("gather.host.gather_engine", "gather.host.ring", "gather.host.simulated_engine"),
        exports={
            "gather_engine": ("Engine", "GatherFailed"),
            "request": ("Completion", "Request", "Table"),
            "ring": ("Ring", "RingStopped"),
        },
        reach="vfio",
        interrupts=True,
        bench="gather_engine",
        selftest="gather.host.selftest",
    )
