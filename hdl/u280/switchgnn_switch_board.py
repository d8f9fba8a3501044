"""SwitchGNN's switch on an Alveo U280."""

from amaranth.hdl import Module

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import gnn_switch_registers
from hdl.switchgnn.switch.switch import GnnSwitch
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board
from hdl.u280.cmac_ip import CAGES
from hdl.u280.pcie import PcieBridge, PcieParams


class GnnSwitchBoard(Board):
    """Places the switch with a worker at each of the card's two cages.

    BAR 0, 1 MB: the switch's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    HBM is not used and not set up, so its temperature pin is held low. There is no interrupt.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        if params.ports != CAGES:
            raise ValueError(
                f"ports must be {CAGES} on this board, which has as many cages: {params.ports}"
            )
        link = PcieBridge(PcieParams(register_bits=gnn_switch_registers(params).address_bits))
        super().__init__(params, link, range(CAGES))

    def elaborate(self, platform) -> Module:
        m = self.begin()
        m.submodules.core = core = GnnSwitch(self.params)
        macs = [self.add_cage(m, cage) for cage in self.cages]
        for k, mac in enumerate(macs):
            self.send(m, mac, 0, core.m_axis[k])
            self.take(m, mac, 0, core.s_axis[k])
        connect_bus(m, self.link.registers[0], core.s_axil)
        self.add_status(m, macs)
        return m
