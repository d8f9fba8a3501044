"""Drives endpoints and their switch on simulated cards, as the cards' hosts do."""

from typing import Any

from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import endpoint_registers
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.registers import BoardRegistersParams
from hdl.u280.switchgnn_endpoint_board import FEATURES, SUMS, TABLES
from sim.harness.register_driver import RegisterDriver
from sim.surroundings.card.host import MOST_US, BlockCard, BoardDriver, DmaCard, Pcie
from sim.switchgnn.network.cluster import ClusterParams
from sim.switchgnn.network.worker_host import WorkerHost
from sim.switchgnn.switch_program import GnnSwitchProgram


class CardGnnSwitch(BlockCard, GnnSwitchProgram):
    """Drives SwitchGNN's switch on a card, with tables on chip."""

    driver = GnnSwitchProgram


class CardEndpoint(WorkerHost, DmaCard):
    """Drives SwitchGNN's endpoint on a card: registers through the BAR, memory by DMA.

    Features and sums have the same addresses, in the parts of HBM of their ports.
    """

    def __init__(self, card: Any, port: int, params: EndpointParams) -> None:
        self.pcie = Pcie(card)
        registers = RegisterDriver(self.pcie, "m_axil", endpoint_registers(params))
        self.use(registers, port, ClusterParams(endpoint=params, workers=1))
        DmaCard.__init__(self, self.pcie)
        self.board = BoardDriver(registers.axil, BoardRegistersParams(cages=1, hbm=True))

    async def write(self, name: str, content: bytes, at: int = 0) -> None:
        """Write to the tables, or to the features and where sums will be."""
        for port in (TABLES,) if name == "tables" else (FEATURES, SUMS):
            await self.write_memory((port << CHANNEL_BITS) + at, content)

    async def read(self, name: str, size: int, at: int = 0) -> bytes:
        """Read from the tables, or from the sums."""
        port = TABLES if name == "tables" else SUMS
        return await self.read_memory((port << CHANNEL_BITS) + at, size)

    async def ends(self, within: int = MOST_US) -> tuple[str, str]:
        """Wait for the interrupt at a job's end; return the state and its cause."""
        before = self.pcie.messages
        await self.board.write(interrupt_enable=1)
        await self.pcie.interrupt(before, within)
        await self.board.write(interrupt_enable=0)
        return await self.state("state"), await self.state("cause")
