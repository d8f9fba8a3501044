"""Says what the host software of a forwarding switch is made of."""

from gen.software.software import Software, of_side
from hdl.switch.forwarding.params import ForwardingParams
from sim.forwarding.side import forwarding_side


def software(params: ForwardingParams) -> Software:
    """Return the host software of a switch with ``params``."""
    return Software(
        about="a forwarding switch",
        **of_side(forwarding_side(params)),
        modules=("forwarding.host.forwarding_switch", "host.simulated"),
        exports={"forwarding_switch": ("Entry", "Forwarding")},
        reach="register_window",
        bench="",
        selftest="forwarding.host.program",
    )
