"""Describes the P4SGD worker as a design, and its floorplan."""

from typing import Any

from gen.designs.design import Bench, Card, Design, Run
from gen.designs.p4sgd_engine import PRESETS as ENGINE
from gen.floorplan.plan import PlanPart

#: names of instances at the far end of a way between groups that are none of its registers
FAR_SIDE = ("load_deserializer", "peeked_serializer")


def engine_groups(params: Any, worker: str = "") -> tuple[PlanPart, ...]:
    """Return a part for each group of engines of ``worker`` (the top if the name is empty).

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


ON_ALL_DIES = {"slrs": 3}  #: engines whose memories one die does not have

DESIGN = Design(
    name="p4sgd-worker",
    about="a P4SGD worker: engines in lock step, and their memory ports",
    component="hdl.p4sgd.worker:Worker",
    params="hdl.p4sgd.worker_params:WorkerParams",
    presets={
        "tiny": {"engines": 1, **ENGINE["tiny"]},
        "small": {"engines": 2, **ENGINE["small"]},
        "u280": {"engines": 8, **ENGINE["u280"]},
        "u280-16": {"engines": 16, **ENGINE["u280-16"]},
        "u280-classes": {"engines": 15, "classes": 5, **ENGINE["u280-16"]},
        "tiled": {"engines": 4, "max_tile": 8, "chunks": 65536, **ENGINE["u280"]},
    },
    preset="u280",
    guide="gen.guides.p4sgd_worker:guide",
    capacity="sim.p4sgd.worker_side:capacity",
    software="gen.software.p4sgd_worker:software",
    runs=[
        Run(
            command="train",
            about="Train on the RTL under Verilator, beside the golden model and float64 SGD.",
            session="sim.p4sgd.training_session:TrainingSession",
            workload="sim.p4sgd.training_workload:TrainingWorkload",
            preset="small",
            shortcuts=["engines"],
            links=True,
            cut=True,
            examples=[
                "ingather train --data digits -o build/digits",
                "ingather train --data FILE --loss hinge --test 0.2 --center",
            ],
            needs=["matplotlib"],
            section="gen.report.training_section:training_section",
        )
    ],
    cards={
        "u280": Card(
            component="hdl.u280.worker_board:WorkerBoard",
            presets={
                "u280": {"address_bits": 29, **ON_ALL_DIES},
                "u280-16": ON_ALL_DIES,
                "u280-classes": ON_ALL_DIES,
                "tiled": {"address_bits": 29},
            },
            preset="u280",
        )
    },
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:WorkerKernel",
            presets={name: ON_ALL_DIES for name in ("u280", "u280-16", "u280-classes")},
            preset="u280",
        )
    },
    plan="gen.designs.p4sgd_worker:engine_groups",
    paper="gen.synth.paper:p4sgd",
    benches={
        "emission": Bench(
            title="Emission: ours beside Amaranth's own",
            rows="sim.p4sgd.bench.emission:rows",
            preset="u280",
        ),
        "build": Bench(
            title="Build of the simulator from nothing",
            rows="sim.p4sgd.bench.speed:build_rows",
            preset="u280",
        ),
        **{
            f"speed-{preset}": Bench(
                title=f"Speed of simulation: {preset} worker, digits, 20 epochs",
                rows="sim.p4sgd.bench.speed:speed_rows",
                preset=preset,
            )
            for preset in ("tiny", "small", "u280")
        },
        "training-processes": Bench(
            title="A simulated cluster: whole, and workers as processes",
            rows="sim.p4sgd.bench.processes:rows",
            preset="tiny",
        ),
        "cycles": Bench(
            title="Cycles of an epoch beside the ideal ones",
            rows="sim.p4sgd.bench.cycles:rows",
            preset="u280",
        ),
        "cycles-16": Bench(
            title="Cycles of an epoch of 16 engines beside the ideal ones",
            rows="sim.p4sgd.bench.cycles:rows",
            preset="u280-16",
        ),
        "banks": Bench(
            title="Cycles of an epoch, by the banks of an engine, beside the ideal ones",
            rows="sim.p4sgd.bench.cycles:bank_rows",
            preset="u280-16",
        ),
        "classes": Bench(
            title="Cycles of an epoch of several classes in one pass beside the ideal ones",
            rows="sim.p4sgd.bench.cycles:class_rows",
            preset="u280-classes",
        ),
        "refresh": Bench(
            title="Epochs of 16 engines while HBM is refreshed, beside the formula",
            rows="sim.p4sgd.bench.refresh:rows",
            preset="u280-16",
        ),
        "tiled": Bench(
            title="Cycles of a mini-batch with the model in memory beside the formula",
            rows="sim.p4sgd.bench.tiled:rows",
            preset="tiled",
        ),
        "card": Bench(
            title="The u280 preset on its card: estimates", rows="sim.p4sgd.bench.card:rows"
        ),
        "harness": Bench(
            title="Harness: verify beside its simulators", rows="sim.p4sgd.bench.harness:rows"
        ),
    },
)
