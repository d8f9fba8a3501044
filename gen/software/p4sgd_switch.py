"""Says what the host software of P4SGD's and MINA's switches is made of."""

from gen.guides.p4sgd_switch_uses import REASONS, REFUSALS
from gen.software.software import Software, board_fields
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.registers import constants, switch_registers
from hdl.switch.port_counters import PORT_COUNTERS
from hdl.switch.tenant_counters import TENANT_COUNTERS
from hdl.u280.cmac_ip import CAGES


def software(params: SwitchParams) -> Software:
    """Return the host software of a switch with ``params``, of tenants or not."""
    tenants = params.tenants
    reasons = REASONS if tenants else REFUSALS
    main, module = ("MinaSwitch", "mina_switch") if tenants else ("Switch", "switch")
    return Software(
        about="a MINA switch" if tenants else "a P4SGD switch",
        map=switch_registers(params),
        main=main,
        modules=(f"host.switch.{module}", "host.switch.workers"),
        exports={"job_switch": ("CommandRefused",), module: (main,)},
        build={
            "fixed": constants(params),
            "verdicts": {one.name: one.value for one in params.verdict if one.name != "NONE"},
            "port_counters": tuple(PORT_COUNTERS),
            "board": board_fields(cages=CAGES, hbm=False),
            "reasons": {reason.name: why.replace("`", "") for reason, why in reasons.items()},
            "tenant_counters": tuple(name for name, _ in TENANT_COUNTERS.counters if tenants),
        },
        reach="register_window",
        bench="mina_switch" if tenants else "p4sgd_switch",
        selftest="host.switch.selftest",
    )
