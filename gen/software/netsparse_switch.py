"""Says what the host software of a NetSparse switch is made of."""

from gen.guides.netsparse_switch import counter_texts
from gen.software.kernels import kernel_of
from gen.software.software import Software, of_side
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.u280.cmac_ip import CAGES
from hdl.u280.registers import board_fields
from hdl.vitis.kernels import NetSparseSwitchKernel
from sim.netsparse.switch_side import switch_side


def software(params: NetSparseSwitchParams) -> Software:
    """Return the host software of a switch with ``params``."""
    ports, pipes = counter_texts()
    return Software(
        about="a NetSparse switch",
        **of_side(
            switch_side(params, ports | pipes),
            board=board_fields(cages=CAGES, hbm=False, flow="kinds"),
        ),
        modules=tuple(
            f"netsparse.host.switch.{name}"
            for name in ("netsparse_switch", "routing", "simulated_nodes")
        ),
        exports={
            "netsparse_switch": ("Fault", "NetSparseSwitch"),
            "routing": ("check_routes", "uplinks_of"),
        },
        reach="register_window",
        bench="netsparse_switch",
        selftest="netsparse.host.switch.selftest",
        **kernel_of(NetSparseSwitchKernel, params),
    )
