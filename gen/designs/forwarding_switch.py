"""Describes the forwarding switch as a design."""

from gen.designs.design import Bench, Card, Design, Most, Run
from hdl.switch.forwarding.presets import PRESETS

DESIGN = Design(
    name="forwarding-switch",
    about="a switch of Ethernet packets: learns addresses, forwards by class, loses none of some",
    component="hdl.switch.forwarding.switch:ForwardingSwitch",
    params="hdl.switch.forwarding.params:ForwardingParams",
    presets=PRESETS,
    preset="u280",
    guide="gen.guides.forwarding_switch:guide",
    software="gen.software.forwarding_switch:software",
    runs=[Run(session="sim.forwarding.session:ForwardingSession")],
    benches={
        "forwarding": Bench(
            title="Forwarding: rate, loss and latency by frame length",
            rows="sim.forwarding.bench:rows",
        )
    },
    cards={
        "u280": Card(
            component="hdl.u280.forwarding_switch_board:ForwardingSwitchBoard",
            presets={
                "tiny": {"ports": 2, "beats": 8192, "headroom": 2144},
                "u280": {"beats": 16384, "headroom": 2144},
            },
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
)
