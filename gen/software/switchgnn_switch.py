"""Says what the host software of a SwitchGNN switch is made of, and what it knows of the build."""

from gen.guides.switchgnn_switch_uses import ERRORS, REFUSALS
from gen.software.software import Software
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import constants, gnn_switch_registers
from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BYTES
from hdl.u280.cmac_ip import CAGES
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.registers import board_fields


def software(params: GnnSwitchParams) -> Software:
    """Return the host software of a switch with ``params``.

    Where tables are in memory, it writes them by DMA, to the places that they have on the card.
    """
    errors = {TableError.NONE: "all contributions were made"} | ERRORS
    whole = not (params.in_memory or params.links)
    return Software(
        about="a SwitchGNN switch",
        map=gnn_switch_registers(params),
        main="GnnSwitch",
        modules=("switchgnn.host.gnn_switch", "switchgnn.host.gnn_workers"),
        exports={"gnn_switch": ("GnnSwitch", "Tables"), "job_switch": ("CommandRefused",)},
        build={
            "fixed": constants(params),
            "verdicts": {one.name: one.value for one in params.verdict if one.name != "NONE"},
            "port_counters": tuple(name for name, _ in port_counters(params).counters),
            "total_counters": tuple(name for name, _ in TOTAL_COUNTERS.counters),
            "board": board_fields(cages=CAGES, hbm=params.in_memory),
            "reasons": {reason.name: why.replace("`", "") for reason, why in REFUSALS.items()},
            "errors": {cause.name: why.replace("`", "") for cause, why in errors.items()},
            "memory": (1 << CHANNEL_BITS, BEAT_BYTES) if params.in_memory else (0, 0),
        },
        reach="xdma" if params.in_memory else "register_window",
        bench="switchgnn_switch" if whole else "",
        selftest=f"switchgnn.host.gnn_{'memory_' * params.in_memory}selftest",
    )
