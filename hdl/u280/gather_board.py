"""Places a gather engine on an Alveo U280."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect

from hdl.gather.engine import GatherEngine
from hdl.gather.engine_params import GatherEngineParams
from hdl.u280.board import Board
from hdl.u280.hbm import Hbm
from hdl.u280.hbm_ip import ADDRESS_BITS
from hdl.u280.hbm_port import HbmPortParams
from hdl.u280.pcie_block import PcieBlock
from hdl.u280.pcie_block_ip import DATA_BITS
from hdl.u280.pcie_ip import USER_MHZ

ROWS = 0  #: the port of HBM to which rows go


class GatherBoard(Board):
    """Places the engine between AMD's block for PCI Express, Gen3 x16, and HBM.

    BAR 0, 1 MB: the engine's registers at 0. BAR 2 is the block's, with the table of MSI-X;
    interrupt 0 follows each completion. Rows go to HBM through port 0: with 33 address bits an
    address is one in bytes of HBM, from 0 on; the port is fastest in the first 256 MB. With the
    output host they go to bus addresses instead, and there is no HBM. The cages are not used, and
    the board has no registers of its own.
    """

    core_mhz = USER_MHZ
    own_clock = False
    status = False

    def __init__(self, params: GatherEngineParams) -> None:
        if not params.over_pcie:
            raise ValueError("host_bus must be pcie on this board, which has no bridge: axi")
        if params.to_stream or params.card_idxs:
            raise ValueError(
                "outputs must be axi or host on this board, without card_idxs:"
                f" {params.outputs}, {params.card_idxs}"
            )
        if params.data_bits != DATA_BITS:
            raise ValueError(
                f"data_bits must be {DATA_BITS} on this board, as Gen3 x16 has no other width:"
                f" {params.data_bits}"
            )
        if params.address_bits > ADDRESS_BITS:
            raise ValueError(
                f"address_bits must be at most {ADDRESS_BITS} on this board, 8 GB of HBM:"
                f" {params.address_bits}"
            )
        port = HbmPortParams(address_bits=params.address_bits, reads=False, writes=True, lines=True)
        memory = Hbm.sized(ports=((ROWS, port),)) if params.to_memory else None
        super().__init__(params, PcieBlock(), memory=memory)

    def build(self, m: Module) -> None:
        self.begin(m)
        link = self.link
        m.submodules.core = core = GatherEngine(self.params)
        for name in ("rc", "cq"):
            connect(m, getattr(link, name), getattr(core, name))
        for name in ("rq", "cc"):
            connect(m, getattr(core, name), getattr(link, name))
        connect(m, link.function, core.function)
        m.d.comb += [core.limit.eq(link.limits.read)]
        for name in ("credits", "numbers", *(n for n in link.signature.members if "msix" in n)):
            inside, outside = getattr(core, name), getattr(link, name)
            to_core = core.signature.members[name].flow == In
            m.d.comb += inside.eq(outside) if to_core else outside.eq(inside)
        if memory := self.memory:
            connect(m, core.m_axi, getattr(memory, f"port_{ROWS}"))
        if self.params.to_host:
            m.d.comb += core.payload_limit.eq(link.limits.payload)
