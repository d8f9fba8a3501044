"""A switch of MINA: many jobs are registered with it, and some hold it at a time."""

from gen.designs.design import Design

DESIGN = Design(
    name="mina-switch",
    about="a switch for AllReduce that is granted to some of many jobs at a time, and enforces it",
    component="hdl.p4sgd.switch.switch:Switch",
    params="hdl.p4sgd.switch.tenant_params:TenantSwitchParams",
    presets={
        "tiny": {"ports": 2, "slots": 16, "jobs": 2, "ingress_depth": 64},
        "small": {"ports": 4, "slots": 256, "jobs": 4},
        "paper": {"ports": 16, "jobs": 16},
    },
    preset="small",
)
