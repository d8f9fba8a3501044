"""Says what the host software of a forwarding switch is made of."""

from gen.software.software import Software, of_side
from hdl.switch.forwarding.params import ForwardingParams
from hdl.u280.cmac_ip import CAGES
from hdl.u280.registers import board_fields
from sim.forwarding.side import forwarding_side


def software(params: ForwardingParams) -> Software:
    """Return the host software of a switch with ``params``."""
    return Software(
        about="a forwarding switch",
        **of_side(
            forwarding_side(params),
            board=board_fields(cages=CAGES, hbm=False, flow="priorities"),
        ),
        modules=("forwarding.host.forwarding_switch", "forwarding.host.simulated_hosts"),
        exports={"forwarding_switch": ("Entry", "Forwarding")},
        reach="register_window",
        bench="forwarding_switch",
        selftest="forwarding.host.program",
    )
