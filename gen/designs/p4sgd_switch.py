"""Describes the P4SGD switch as a design."""

from gen.designs.design import Bench, Card, Design, Most, Run

DESIGN = Design(
    name="p4sgd-switch",
    about="a P4SGD switch: adds up the activations of the workers at its ports",
    component="hdl.p4sgd.switch.switch:Switch",
    params="hdl.p4sgd.switch.params:SwitchParams",
    presets={
        "tiny": {"ports": 2, "slots": 256, "jobs": 2, "ingress_depth": 64},
        "8-port": {},
        "32-port": {"ports": 32, "jobs": 32},
    },
    preset="8-port",
    guide="gen.guides.p4sgd_switch:guide",
    software="gen.software.p4sgd_switch:software",
    runs=[Run(session="sim.p4sgd.switch_session:SwitchSession")],
    cards={
        "u280": Card(
            component="hdl.u280.switch_board:SwitchBoard",
            presets={"u280": {"ports": 2}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:SwitchKernel",
            presets={"u280": {"ports": 2}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        ),
        "opennic": Card(
            component="hdl.opennic.plugins:P4sgdPlugin",
            presets={"opennic": {"ports": 2}},
            preset="opennic",
            most={"ports": Most(value=2, because="the shell has two MACs")},
        ),
    },
    benches={
        "network": Bench(
            title="Network: AllReduce, switch, scale-out", rows="sim.p4sgd.bench.network:rows"
        )
    },
)
