"""Places a NetSparse NIC on an Alveo U280."""

from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hdl.netsparse.kind_split import READS, RESPONSES
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.snic import Snic
from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board
from hdl.u280.hbm import Hbm
from hdl.u280.hbm_ip import ADDRESS_BITS
from hdl.u280.hbm_port import HbmPortParams
from hdl.u280.pcie import PcieBridge, PcieParams
from hdl.u280.pcie_block import WORDS, PcieStreams
from hdl.u280.pcie_ip import USER_MHZ

DRAM = 0  #: the port of HBM that is the SNIC's own memory


class SnicBoard(Board):
    """Places the SNIC with HBM as its memory, its network at cage 0, its host behind PCI Express.

    Reads and responses share the cage, as they share a network's links, each with a way and a
    buffer of its own, in and out, and a priority that either end pauses alone (:class:`Mac`), so
    that no packet is lost for want of room. ``m_axi_dram`` is HBM from address 0, through port 0.
    Host memory is reached at the host's own physical (or IOMMU's) addresses: by XDMA's bridge at
    ``m_axi_host``, or, with ``host_bus`` pcie, by RQ and RC of the bare block, which has BAR 2 for
    its table of MSI-X (:class:`PcieStreams`).

    A network that loses a packet stops the request that waits for it, which ends as WATCHDOG when
    nothing has moved for its ``watchdog``. The host then submits it again, a few times at most:
    when all other requests have ended and ``busy_units`` shows no client, it writes
    ``clear_filter`` and waits while ``filter_busy``. No other cause goes away by itself.

    BAR 0, 1 MB: the SNIC's registers at 0, the board's (:func:`board_registers`) at 0x10000. The
    interrupt is requested while there is a completion; the board's registers let it pass.
    """

    core_mhz = USER_MHZ
    own_clock = False

    def __init__(self, params: SnicParams) -> None:
        if params.dram_address_bits > ADDRESS_BITS:
            raise ValueError(
                f"dram_address_bits must be at most {ADDRESS_BITS} on this board, 8 GB of HBM:"
                f" {params.dram_address_bits}"
            )
        kind = PcieStreams if params.over_pcie else PcieBridge
        link = kind(PcieParams(register_bits=snic_registers(params).address_bits))
        port = HbmPortParams(address_bits=params.dram_address_bits, writes=True, lines=True)
        memory = Hbm.sized(ports=((DRAM, port),))
        super().__init__(params, link, [0], flow="kinds", memory=memory)

    def build(self, m: Module) -> None:
        self.begin(m)
        m.submodules.core = core = Snic(self.params)
        mac = self.add_cage(m, self.cages[0])
        self.send(m, mac, READS, core.m_axis_reads)
        self.send(m, mac, RESPONSES, core.m_axis_responses)
        self.take(m, mac, READS, core.s_axis_reads)
        self.take(m, mac, RESPONSES, core.s_axis_responses)
        connect(m, core.m_axi_dram, getattr(self.memory, f"port_{DRAM}"))
        self.reach_host(m, core)
        connect_bus(m, self.of_link(m, "registers_0"), core.s_axil)
        status = self.add_status(m, [mac], msix=self.params.over_pcie)
        m.d.comb += status.request.eq(core.irq)

    def reach_host(self, m: Module, core: Snic) -> None:
        """Connect the way to host memory, whichever it is."""
        link = self.link
        if isinstance(link, PcieBridge):
            connect_bus(m, core.m_axi_host, link.host)
            return
        connect(m, core.rq, link.rq)
        connect(m, link.rc, core.rc)
        connect(m, link.function, core.function)
        m.d.comb += [getattr(core, name).eq(getattr(link, name)) for name in WORDS]
