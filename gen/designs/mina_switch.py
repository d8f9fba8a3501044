"""Describes MINA's switch: that of P4SGD, which jobs acquire in turn, each in its own tree."""

from gen.designs.design import Card, Design, Most, Run

DESIGN = Design(
    name="mina-switch",
    about="a MINA switch: adds up for the jobs that it is granted to, one or several at a time",
    component="hdl.p4sgd.switch.switch:Switch",
    params="hdl.p4sgd.switch.tree_params:TreeSwitchParams",
    presets={
        "tiny": {"ports": 4, "slots": 16, "jobs": 2, "ingress_depth": 32, "egress_depth": 16},
        "small": {"ports": 8, "slots": 256, "jobs": 4, "ingress_depth": 64},
        "paper": {"ports": 16, "jobs": 32},
    },
    preset="small",
    guide="gen.guides.p4sgd_switch:guide",
    software="gen.software.p4sgd_switch:software",
    runs=[
        Run(session="sim.mina.switch_session:TenantSwitchSession"),
        Run(name="schedule", session="sim.mina.schedule_session:ScheduleSession"),
    ],
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:SwitchKernel",
            presets={"tiny": {"ports": 2}, "u280": {"ports": 2}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        ),
        "opennic": Card(
            component="hdl.opennic.plugins:P4sgdPlugin",
            presets={"tiny": {"ports": 2}, "opennic": {"ports": 2}},
            preset="opennic",
            most={"ports": Most(value=2, because="the shell has two MACs")},
        ),
    },
    cards={
        "u280": Card(
            component="hdl.u280.switch_board:SwitchBoard",
            presets={"tiny": {"ports": 2}, "u280": {"ports": 2}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
)
