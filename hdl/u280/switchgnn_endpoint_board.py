"""Places SwitchGNN's endpoint on an Alveo U280."""

from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import endpoint_registers
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board
from hdl.u280.hbm import Hbm
from hdl.u280.hbm_ip import ADDRESS_BITS
from hdl.u280.hbm_port import HbmPortParams
from hdl.u280.pcie import PcieDma

TABLES, FEATURES, SUMS, HOST = 0, 4, 8, 12  #: ports of HBM, each in a group of four of its own


class EndpointBoard(Board):
    """Places the endpoint beside HBM, its switch at cage 0, its host behind PCI Express by DMA.

    Tables are read through HBM's port 0, features through port 4, sums and copies are written
    through port 8, and port 12 carries all that the host reads and writes. With 33 address bits an
    address is one in bytes of HBM; a port is fastest in the 256 MB that begin at 256 MB times its
    number. With fewer, an address is one in those of its port. A beat of 512 bits is two of HBM's,
    in its clock of 450 MHz: a port gives 14.4 GB/s at most, a cage takes 12.5.

    BAR 0, 1 MB: the endpoint's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    DMA: HBM, 8 GB, from 0. The interrupt is requested while the endpoint is not busy; the board's
    registers let it pass.
    """

    def __init__(self, params: EndpointParams) -> None:
        if params.address_bits > ADDRESS_BITS:
            raise ValueError(
                f"address_bits must be at most {ADDRESS_BITS} on this board, 8 GB of HBM:"
                f" {params.address_bits}"
            )
        registers = endpoint_registers(params)
        link = PcieDma.sized(register_bits=registers.address_bits)
        ports = {
            TABLES: self.port(params, writes=False),
            FEATURES: self.port(params, writes=False),
            SUMS: self.port(params, writes=True),
            HOST: HbmPortParams(address_bits=ADDRESS_BITS, writes=True),
        }
        memory = Hbm.sized(ports=tuple(ports.items()))
        super().__init__(params, link, [0], memory=memory)

    @staticmethod
    def port(params: EndpointParams, *, writes: bool) -> HbmPortParams:
        """Return a port that the endpoint reads, or writes, by lines."""
        bits = params.address_bits
        return HbmPortParams(address_bits=bits, reads=not writes, writes=writes, lines=True)

    def build(self, m: Module) -> None:
        self.begin(m)
        m.submodules.core = core = Endpoint(self.params)
        mac = self.add_cage(m, self.cages[0])
        self.send(m, mac, 0, core.m_axis)
        self.take(m, mac, 0, core.s_axis)
        connect(m, core.m_axi_tables, getattr(self.memory, f"port_{TABLES}"))
        connect(m, core.m_axi_features, getattr(self.memory, f"port_{FEATURES}"))
        connect(m, core.m_axi_sums, getattr(self.memory, f"port_{SUMS}"))
        connect_bus(m, self.of_link(m, "dma_hbm"), getattr(self.memory, f"port_{HOST}"))
        connect_bus(m, self.of_link(m, "registers_0"), core.s_axil)
        status = self.add_status(m, [mac])
        m.d.comb += status.request.eq(~core.busy)
