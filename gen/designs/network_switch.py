"""Describes the switch for every system as a design."""

from gen.designs.design import Bench, Design, Run
from hdl.network_switch.presets import PRESETS

DESIGN = Design(
    name="network-switch",
    about="a switch for all systems: forwards packets, and has an engine for each of the others",
    component="hdl.network_switch.switch:NetworkSwitch",
    params="hdl.network_switch.params:NetworkSwitchParams",
    presets=PRESETS,
    preset="tiny",
    runs=[Run(session="sim.network_switch.session:TogetherSession")],
    benches={
        "together": Bench(
            title="One switch: what systems cost each other",
            rows="sim.network_switch.bench:rows",
            preset="tiny",
        )
    },
)
