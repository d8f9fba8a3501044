"""Describes SwitchGNN's switch as a design, and its floorplan."""

from typing import Any

from gen.designs.design import Bench, Card, Design, Most, Run
from gen.floorplan.plan import PlanPart
from hdl.switchgnn.switch.presets import IN_HBM, ON_TWO_DIES, PRESETS

#: So many tasks queue in a block RAM with a register, by which the paths of lists on chip keep
#: the clock.
IN_SHELL = {"ports": 2, "tasks": 128, **ON_TWO_DIES}


def upper_lanes(params: Any, switch: str = "") -> tuple[PlanPart, ...]:
    """Return the part of the upper lanes of ``switch`` (the top if the name is empty), if they may
    lie apart: the UltraRAM of all lanes is more than an SLR's.
    """
    if not params.slr_stages:
        return ()
    lanes = "aggregation/far/lanes"
    return (PlanPart(name="upper_lanes", cells=(f"{switch}/{lanes}" if switch else lanes,)),)


DESIGN = Design(
    name="switchgnn-switch",
    about="a SwitchGNN switch: adds features up for the vertices that need them, by lists",
    component="hdl.switchgnn.switch.switch:GnnSwitch",
    params="hdl.switchgnn.switch.params:GnnSwitchParams",
    presets=PRESETS,
    preset="small",
    guide="gen.guides.switchgnn_switch:guide",
    software="gen.software.switchgnn_switch:software",
    runs=[
        Run(session="sim.switchgnn.switch_session:GnnSwitchSession"),
        Run(
            command="gcn",
            about="Train a graph network on the RTL of a switch and its workers, beside a run of"
            " one worker and float64.",
            session="sim.switchgnn.gcn.session:GcnSession",
            workload="sim.switchgnn.gcn.workload:GcnWorkload",
            links=True,
            cut=True,
            examples=[
                "ingather gcn -o build/gcn",
                "ingather gcn --drop 0.3 --duplicate 0.3 --reorder 0.3 --epochs 5 -o build/bad",
                "ingather gcn --racks 2 --spines 2 --drop 0.3 --epochs 5 -o build/racks",
                "ingather gcn --data FILE.mtx --workers 3 --hidden 16 --adder golden",
            ],
            needs=["matplotlib"],
            section="gen.report.gcn_section:gcn_section",
        ),
    ],
    benches={
        "switchgnn-switch": Bench(
            title="SwitchGNN switch: preset full on its card, estimates",
            rows="sim.switchgnn.bench.size:rows",
        ),
        "switchgnn-links": Bench(
            title="SwitchGNN between its endpoints: frames beyond the plan's, and repeats",
            rows="sim.switchgnn.bench.links:rows",
            preset="small",
        ),
        "switchgnn-processes": Bench(
            title="A simulated network: whole, and workers as processes",
            rows="sim.switchgnn.bench.processes:rows",
            preset="small",
        ),
    },
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:GnnSwitchKernel",
            presets={"tiny": {"ports": 2}, "u280": IN_SHELL},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        ),
        "opennic": Card(
            component="hdl.opennic.plugins:GnnPlugin",
            presets={"tiny": {"ports": 2}, "opennic": IN_SHELL},
            preset="opennic",
            most={"ports": Most(value=2, because="the shell has two MACs")},
        ),
    },
    cards={
        "u280": Card(
            component="hdl.u280.switchgnn_switch_board:GnnSwitchBoard",
            presets={
                "tiny": {"ports": 2},
                "u280": {"ports": 2, **IN_HBM, **ON_TWO_DIES},
                # the second cage leads to a switch above
                "u280-leaf": {"ports": 2, "links": 1, **IN_HBM, **ON_TWO_DIES},
            },
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
    plan="gen.designs.switchgnn_switch:upper_lanes",
)
