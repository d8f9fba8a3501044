"""Plans of the designs and of their boards: what may lie in which SLR."""

from gen.floorplan.plan import Plan, PlanPart
from hdl.common.component import Component
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from hdl.u280.board import Board

CORE = "core"  #: the design in a top of the board

#: beside the cages' transceivers; everything else is beside HBM and PCI Express
CAGES = PlanPart(name="cages", cells=("mac_*",), slr=2)

#: of a way between groups, what is no register of it and stands beyond them
FAR_SIDE = ("load_joiner", "peeked_cutter")


def plan_of(component: Component) -> Plan:
    """The plan of a design; one without parts of its own lies in one SLR, beside the HBM."""
    if isinstance(component, Worker):
        return Plan(parts=engine_groups(component.params))
    if isinstance(component, Board):
        inside = isinstance(component.params, WorkerParams)
        groups = engine_groups(component.params, CORE) if inside else ()
        return Plan(parts=(*groups, CAGES))
    return Plan()


def engine_groups(params: WorkerParams, worker: str = "") -> tuple[PlanPart, ...]:
    """The groups of engines of the worker called ``worker`` (the top if it has no name).

    The near side of a way to the next group belongs to its own, the far side to the next. With
    one SLR there are no groups: no registers are between engines and the rest, which must lie
    together.
    """
    if params.slrs == 1:
        return ()
    chain = f"{worker}/core/chain" if worker else "core/chain"
    return tuple(
        PlanPart(
            name=f"group_{k}",
            cells=(
                f"{chain}/group_{k}",
                *((f"{chain}/crossing_{k}",) if k < params.slrs - 1 else ()),
                *(f"{chain}/crossing_{k - 1}/{name}" for name in FAR_SIDE if k > 0),
            ),
        )
        for k in range(params.slrs)
    )
