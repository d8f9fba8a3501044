"""SwitchGNN's switch."""

from gen.designs.design import Card, Design, Most, Run
from hdl.switchgnn.switch.presets import PRESETS

DESIGN = Design(
    name="switchgnn-switch",
    about="a SwitchGNN switch: adds features up for the vertices that need them, by lists",
    component="hdl.switchgnn.switch.switch:GnnSwitch",
    params="hdl.switchgnn.switch.params:GnnSwitchParams",
    presets=PRESETS,
    preset="small",
    runs=[Run(session="sim.switchgnn.switch_session:GnnSwitchSession")],
    cards={
        "u280": Card(
            component="hdl.u280.switchgnn_switch_board:GnnSwitchBoard",
            presets={"tiny": {"ports": 2}, "u280": {"ports": 2}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
)
