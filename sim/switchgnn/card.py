"""Drives endpoints and their switch on simulated cards, as the cards' hosts do."""

from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from hdl.switchgnn.endpoint.bundles import State
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.u280.registers import BoardRegistersParams
from sim.harness.register_driver import quiet
from sim.surroundings.card.host import MAX_US, BlockCard, BoardDriver, DmaCard, Pcie
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.switch_program import GnnSwitchProgram
from sim.switchgnn.wire import GROUP


class CardGnnSwitch(BlockCard, GnnSwitchProgram):
    """Drives SwitchGNN's switch on a card, with tables on chip."""

    driver = GnnSwitchProgram


class CardEndpoint(EndpointProgram, DmaCard):
    """Drives SwitchGNN's endpoint on a card: registers through the BAR, memory by DMA."""

    def __init__(self, card: Any, port: int, params: EndpointParams) -> None:
        self.pcie = pcie = Pcie(card)
        DmaCard.__init__(self, pcie)
        bar = AxiLiteMaster(AxiLiteBus.from_prefix(pcie, "m_axil"), pcie.clk, pcie.rst)
        quiet(pcie, "m_axil")
        EndpointProgram.__init__(self, pcie, params, port, bus=bar, memory=self, address=GROUP)
        self.board = BoardDriver(bar, BoardRegistersParams(cages=1, hbm=True))

    async def ends(self) -> str:
        """Wait for the interrupt at a job's end; return what came of the job."""
        before = self.pcie.messages
        await self.board.write(interrupt_enable=1)
        await self.pcie.interrupt(before, MAX_US)
        await self.board.write(interrupt_enable=0)
        assert int(await self.read("state")) == State.FINISHED.value
        return await super().ends()
