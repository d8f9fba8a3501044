"""Describes the NetSparse switch as a design."""

from gen.designs.design import Bench, Card, Design, Most, Run
from hdl.netsparse.switch.presets import PRESETS

DESIGN = Design(
    name="netsparse-switch",
    about="a NetSparse switch: middle pipes answer reads from caches, PRs are joined anew",
    component="hdl.netsparse.switch.switch:NetSparseSwitch",
    params="hdl.netsparse.switch.params:NetSparseSwitchParams",
    presets=PRESETS,
    preset="u280",
    guide="gen.guides.netsparse_switch:guide",
    software="gen.software.netsparse_switch:software",
    runs=[Run(session="sim.netsparse.switch_session:NetSparseSwitchSession")],
    benches={
        "netsparse-switch": Bench(
            title="NetSparse switch: a middle pipe, all ports",
            rows="sim.netsparse.bench.switch:rows",
        ),
        "netsparse-switch-depth": Bench(
            title="NetSparse switch: logic levels, every preset",
            rows="sim.netsparse.bench.depth:rows",
        ),
        "netsparse-model": Bench(
            title="Racks of nodes: the model and the RTL",
            rows="sim.netsparse.bench.model:rows",
        ),
    },
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:NetSparseSwitchKernel",
            presets={"tiny": {"ports": 2, "pipes": 1}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        ),
        "opennic": Card(
            component="hdl.opennic.plugins:NetSparsePlugin",
            presets={"tiny": {"ports": 2, "pipes": 1}},
            preset="u280",
            most={"ports": Most(value=2, because="the shell has two MACs")},
        ),
    },
    cards={
        "u280": Card(
            component="hdl.u280.netsparse_switch_board:NetSparseSwitchBoard",
            presets={"tiny": {"ports": 2, "pipes": 1}},
            preset="u280",
            most={"ports": Most(value=2, because="the card has two QSFP28 cages")},
        )
    },
)
