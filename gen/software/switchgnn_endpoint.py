"""Says what the host software of SwitchGNN's endpoint is made of."""

from collections.abc import Mapping
from typing import Any

from gen.software.kernels import CHANNEL_BYTES, kernel_of
from gen.software.software import Software, of_side
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.u280.registers import board_fields
from hdl.vitis.kernels import EndpointKernel
from sim.switchgnn.endpoint_side import endpoint_side


def software(params: EndpointParams) -> Software:
    """Return the host software of an endpoint with ``params``."""
    # A job may run while payloads are written, so that no buffer may move.
    size = min(CHANNEL_BYTES, 1 << params.address_bits)
    sizes: dict[str, int] = dict.fromkeys(("tables", "features", "sums"), size)

    def places(place: Mapping[str, int]) -> dict[str, Any]:
        return {"regions": {name: (place[name], 0, size) for name in sizes}, "board": {}}

    return Software(
        about="a SwitchGNN endpoint",
        **of_side(endpoint_side(params), board=board_fields()),
        modules=tuple(
            f"switchgnn.host.{name}"
            for name in (
                "endpoint",
                "exchange",
                "float_features",
                "simulated_endpoint",
                "golden_network",
            )
        ),
        exports={"endpoint": ("Endpoint", "JobFailed"), "turns": ("Send", "Turn")},
        reach="xdma",
        bench="switchgnn_endpoint",
        selftest="switchgnn.host.selftest",
        **kernel_of(EndpointKernel, params, places, sizes),
        kernel_checks=("memory",),
    )
