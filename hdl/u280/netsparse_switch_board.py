"""NetSparse's switch on an Alveo U280."""

from amaranth.hdl import Module

from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.registers import switch_registers
from hdl.netsparse.switch.switch import NetSparseSwitch
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board
from hdl.u280.cmac_ip import CAGES
from hdl.u280.kind_split import READS, RESPONSES
from hdl.u280.pcie import PcieBridge, PcieParams


class NetSparseSwitchBoard(Board):
    """Places a switch of two ports, so that its cache can be tried between two links.

    Cage k is port k. Reads and responses share a cage, each with a way and a buffer of its own and
    a priority that either end pauses alone (:class:`hdl.u280.mac.Mac`), so that no packet is lost
    for want of room. With a node at one cage and another one, or a further switch, at the other,
    the latter is the uplink: its properties are what the cache holds.

    BAR 0, 1 MB: the switch's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    HBM is not used and not set up, so its temperature pin is held low. There is no interrupt.
    """

    def __init__(self, params: NetSparseSwitchParams) -> None:
        if params.ports != CAGES:
            raise ValueError(
                f"ports must be {CAGES} on this board, which has as many cages: {params.ports}"
            )
        link = PcieBridge(PcieParams(register_bits=switch_registers(params).address_bits))
        super().__init__(params, link, range(CAGES), split=True)

    def elaborate(self, platform) -> Module:
        m = self.begin()
        m.submodules.core = core = NetSparseSwitch(self.params)
        macs = [self.add_cage(m, cage) for cage in self.cages]
        for k, mac in enumerate(macs):
            self.send(m, mac, READS, core.m_axis_reads[k])
            self.send(m, mac, RESPONSES, core.m_axis_responses[k])
            self.take(m, mac, READS, core.s_axis_reads[k])
            self.take(m, mac, RESPONSES, core.s_axis_responses[k])
        connect_bus(m, self.link.registers[0], core.s_axil)
        self.add_status(m, macs)
        return m
