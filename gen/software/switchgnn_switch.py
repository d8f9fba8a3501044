"""Says what the host software of a SwitchGNN switch is made of."""

from gen.software.kernels import kernel_of
from gen.software.software import Software, of_side
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.u280.cmac_ip import CAGES
from hdl.u280.registers import board_fields
from hdl.vitis.kernels import GnnSwitchKernel
from sim.switchgnn.switch_side import switch_side


def software(params: GnnSwitchParams) -> Software:
    """Return the host software of a switch with ``params``.

    Where tables are in memory, it writes them by DMA, to the places that they have on the card.
    """
    whole = not (params.in_memory or params.links)
    return Software(
        about="a SwitchGNN switch",
        **of_side(switch_side(params), board=board_fields(cages=CAGES, hbm=params.in_memory)),
        modules=tuple(
            f"switchgnn.host.{name}" for name in ("gnn_switch", "exchange", "gnn_workers")
        ),
        exports={"gnn_switch": ("GnnSwitch", "Tables"), "job_switch": ("CommandRefused",)},
        reach="xdma" if params.in_memory else "register_window",
        bench="switchgnn_switch" if whole else "",
        selftest=f"switchgnn.host.gnn_{'memory_' * params.in_memory}selftest",
        **kernel_of(GnnSwitchKernel, params),
    )
