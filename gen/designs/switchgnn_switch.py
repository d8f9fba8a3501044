"""SwitchGNN's switch."""

from gen.designs.design import Design
from hdl.switchgnn.switch.presets import PRESETS

DESIGN = Design(
    name="switchgnn-switch",
    about="a SwitchGNN switch: adds features up for the vertices that need them, by lists",
    component="hdl.switchgnn.switch.switch:GnnSwitch",
    params="hdl.switchgnn.switch.params:GnnSwitchParams",
    presets=PRESETS,
    preset="small",
)
