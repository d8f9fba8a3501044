"""Says what the host software of SwitchGNN's endpoint is made of."""

from gen.software.software import Software, of_side
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.u280.registers import board_fields
from sim.switchgnn.endpoint_side import endpoint_side


def software(params: EndpointParams) -> Software:
    """Return the host software of an endpoint with ``params``."""
    return Software(
        about="a SwitchGNN endpoint",
        **of_side(endpoint_side(params), board=board_fields()),
        modules=tuple(
            f"switchgnn.host.{name}"
            for name in ("endpoint", "simulated_endpoint", "golden_network")
        ),
        exports={"endpoint": ("Endpoint", "JobFailed"), "turns": ("Send", "Turn")},
        reach="xdma",
        bench="switchgnn_endpoint",
        selftest="switchgnn.host.selftest",
    )
