"""Describes the switch of AllReduces of many numbers as a design."""

from gen.designs.design import Bench, Design, Run

TINY = {"ports": 2, "banks": 2, "slots": 32, "jobs": 2, "ingress_depth": 64, "egress_depth": 64}

DESIGN = Design(
    name="allreduce-switch",
    about="a switch of AllReduces: adds up frames of up to 2048 numbers at the ports' rate",
    component="hdl.allreduce.switch:AllReduceSwitch",
    params="hdl.allreduce.switch_params:AllReduceSwitchParams",
    presets={
        "tiny": TINY,
        "8-port": {},
        "jumbo": {"most_numbers": 2048, "slots": 512, "ingress_depth": 1024},
        "u280": {"ports": 2, "banks": 2},
    },
    preset="8-port",
    guide="gen.guides.allreduce_switch:guide",
    software="gen.software.allreduce_switch:software",
    runs=[Run(session="sim.allreduce.rates:RateSession")],
    benches={
        "allreduce": Bench(
            title="AllReduces of many numbers: shares of the line, packets of a beat",
            rows="sim.allreduce.rates:rows",
        )
    },
)
