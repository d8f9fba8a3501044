"""Describes SwitchGNN's endpoint as a design."""

from gen.designs.design import Card, Design, Run
from hdl.switchgnn.endpoint.presets import SETTINGS

DESIGN = Design(
    name="switchgnn-endpoint",
    about="a SwitchGNN endpoint: sends a worker's features to the switch, takes the sums it gets",
    component="hdl.switchgnn.endpoint.endpoint:Endpoint",
    params="hdl.switchgnn.endpoint.params:EndpointParams",
    presets=SETTINGS,
    preset="small",
    guide="gen.guides.switchgnn_endpoint:guide",
    software="gen.software.switchgnn_endpoint:software",
    runs=[Run(session="sim.switchgnn.endpoint_session:EndpointSession")],
    cards={
        "u280": Card(
            component="hdl.u280.switchgnn_endpoint_board:EndpointBoard",
            presets={"u280": {"address_bits": 33}},
            preset="u280",
        )
    },
    shells={
        "vitis": Card(
            component="hdl.vitis.kernels:EndpointKernel",
            presets={"u280": {"address_bits": 28}},  # a channel of HBM for each manager
            preset="u280",
        )
    },
)
