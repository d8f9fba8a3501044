"""Says what the host software of a switch of AllReduces of many numbers is made of."""

from gen.software.software import Software, of_side
from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.allreduce.switch_side import switch_side


def software(params: AllReduceSwitchParams) -> Software:
    """Return the host software of a switch with ``params``, and what hosts add up floats by."""
    return Software(
        about="an AllReduce switch",
        **of_side(switch_side(params)),
        modules=("host.switch.switch", "host.switch.block_floats", "host.switch.wide_workers"),
        exports={"job_switch": ("CommandRefused",), "switch": ("Switch",)},
        reach="register_window",
        bench="allreduce_switch",
        selftest="host.switch.selftest",
    )
