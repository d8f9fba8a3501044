"""Places SwitchGNN's switch on an Alveo U280."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import check_slr_stages
from hdl.u280.cages_board import CagesBoard
from hdl.u280.hbm import Hbm
from hdl.u280.hbm_ip import ADDRESS_BITS, CHANNEL_BITS
from hdl.u280.hbm_port import HbmPortParams
from hdl.u280.pcie import PcieDma


class GnnSwitchBoard(CagesBoard):
    """Places the switch with a worker at each of the card's two cages.

    BAR 0, 1 MB: the switch's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    There is no interrupt.

    With tables in memory, port k of HBM carries the switch's ``m_axi_tables[k]``, and the next port
    behind those all that the host reads and writes by DMA: HBM, 8 GB, from 0. What a table's port k
    reads from address a is at 256 MB times k, plus a. With tables on chip, HBM is not used and not
    set up, so its temperature pin is held low.
    """

    switch = GnnSwitch

    def __init__(self, params: GnnSwitchParams) -> None:
        if params.slr_stages:
            check_slr_stages(params.slr_stages)
        super().__init__(params)

    def memory_of(self, params: GnnSwitchParams) -> Hbm | None:
        """Return the ports of HBM: those of the tables, and behind them the host's."""
        if not params.in_memory:
            return None
        if params.table_address_bits > CHANNEL_BITS:
            raise ValueError(
                f"table_address_bits must be at most {CHANNEL_BITS} on this board, a port's 256 MB"
                f" of HBM: {params.table_address_bits}"
            )
        reads = HbmPortParams(address_bits=params.table_address_bits)
        host = HbmPortParams(address_bits=ADDRESS_BITS, writes=True)
        tables = ((k, reads) for k in range(params.table_ports))
        return Hbm.sized(ports=(*tables, (params.table_ports, host)))

    def connect_memory(self, m: Module, core: Any) -> None:
        """Connect the tables' ports, and the host's DMA."""
        if isinstance(self.link, PcieDma):
            for k, bus in enumerate(core.m_axi_tables):
                connect(m, bus, getattr(self.memory, f"port_{k}"))
            host = getattr(self.memory, f"port_{self.params.table_ports}")
            connect_bus(m, self.of_link(m, "dma_hbm"), host)
