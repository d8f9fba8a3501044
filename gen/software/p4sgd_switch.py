"""Says what the host software of P4SGD's and MINA's switches is made of."""

from gen.software.kernels import kernel_of
from gen.software.software import Software, of_side
from hdl.p4sgd.switch.params import SwitchParams
from hdl.u280.cmac_ip import CAGES
from hdl.u280.registers import board_fields
from hdl.vitis.kernels import SwitchKernel
from sim.p4sgd.switch_side import switch_side


def software(params: SwitchParams) -> Software:
    """Return the host software of a switch with ``params``, of tenants or not."""
    tenants = params.tenants
    main, module = ("MinaSwitch", "mina_switch") if tenants else ("Switch", "switch")
    return Software(
        about="a MINA switch" if tenants else "a P4SGD switch",
        **of_side(switch_side(params), board=board_fields(cages=CAGES, hbm=False)),
        modules=(
            f"host.switch.{module}",
            "host.switch.simulated_switch",
            "host.switch.tenant_workers" if tenants else "host.switch.workers",
            *(["host.switch.pattern"] * tenants),
        ),
        exports={
            "job_switch": ("CommandRefused",),
            module: (main,),
            **({"pattern": ("PatternRecorder", "save")} if tenants else {}),
        },
        reach="register_window",
        bench="mina_switch" if tenants else "p4sgd_switch",
        selftest="host.switch.selftest",
        **kernel_of(SwitchKernel, params),
    )
