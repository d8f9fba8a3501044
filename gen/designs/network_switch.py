"""Describes the switch for every system as a design."""

from typing import Any

from gen.designs.design import Bench, Card, Design, Most, Run
from gen.floorplan.plan import PlanPart
from hdl.network_switch.presets import ON_CARD, PRESETS


def far_engines(params: Any, switch: str = "") -> tuple[PlanPart, ...]:
    """Return a part for each engine of ``switch`` (the top if the name is empty) that may lie
    apart, behind registers.
    """
    from hdl.network_switch.engines import engines

    names = [engine.name for engine in engines(params) if engine.stages]
    paths = {name: f"{switch}/{name}/engine" if switch else f"{name}/engine" for name in names}
    return tuple(PlanPart(name=name, cells=(path,)) for name, path in paths.items())


DESIGN = Design(
    name="network-switch",
    about="a switch for all systems: forwards packets, and has an engine for each of the others",
    component="hdl.network_switch.switch:NetworkSwitch",
    params="hdl.network_switch.params:NetworkSwitchParams",
    presets=PRESETS,
    preset="tiny",
    guide="gen.guides.network_switch:guide",
    software="gen.software.network_switch:software",
    runs=[
        Run(session="sim.network_switch.session:TogetherSession"),
        Run(
            command="step",
            about="Train a graph network whose features come from host memory by gather engines, in"
            " one simulation of workers and their switch, beside a run of one worker.",
            session="sim.network_switch.step.session:StepSession",
            workload="sim.network_switch.step.workload:StepWorkload",
            preset="small",
            links=True,
            examples=[
                "ingather step -o build/step",
                "ingather step --drop 0.3 --duplicate 0.3 --reorder 0.3 --epochs 1 -o build/bad",
                "ingather step --workers 2 --preset tiny --data FILE.npz --hidden 2 --epochs 1",
            ],
            needs=["matplotlib"],
            section="gen.report.gcn_section:gcn_section",
        ),
    ],
    benches={
        "together": Bench(
            title="One switch: what systems cost each other",
            rows="sim.network_switch.bench:rows",
            preset="tiny",
        )
    },
    cards={
        "u280": Card(
            component="hdl.u280.network_switch_board:NetworkSwitchBoard",
            presets={
                "tiny": {"ports": 2, **ON_CARD},
                "u280": {**ON_CARD, "slr_stages": 5},
            },
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
    plan="gen.designs.network_switch:far_engines",
)
