"""Describes the host's side of SwitchGNN's switch."""

from gen.base.comments import by_name, meanings
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.meanings import REASONS
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import constants, gnn_switch_registers
from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BYTES
from hdl.u280.hbm_ip import CHANNEL_BITS
from sim.harness.host_side import HostSide
from sim.host.switch.build import Build
from sim.switchgnn.host.gnn_switch import GnnSwitch


def switch_side(params: GnnSwitchParams, room: int = 1 << CHANNEL_BITS) -> HostSide:
    """Return the host's side of a switch with ``params``.

    Where tables are in memory, it writes them by DMA; each port has ``room`` bytes, by default as
    many as on the card.
    """
    return HostSide(
        map=gnn_switch_registers(params),
        main=GnnSwitch,
        build_type=Build,
        build={
            "fixed": constants(params),
            "verdicts": {item.name: item.value for item in params.verdict if item.name != "NONE"},
            "port_counters": tuple(name for name, _ in port_counters(params).counters),
            "total_counters": tuple(name for name, _ in TOTAL_COUNTERS.counters),
            "reasons": by_name(REASONS),
            "errors": by_name(meanings(TableError)),
            "memory": (room, BEAT_BYTES) if params.in_memory else (0, 0),
        },
    )
