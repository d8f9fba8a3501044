"""Drives SNICs and their switch on simulated cards, as the cards' hosts do."""

from typing import Any

from hdl.netsparse.params import SnicParams
from hdl.u280.registers import BoardRegistersParams
from sim.netsparse.driver import SnicDriver
from sim.netsparse.switch_driver import SwitchDriver
from sim.netsparse.work_request import Completion
from sim.surroundings.card.host import MOST_US, Bar, BlockCard, BoardDriver, Pcie
from sim.surroundings.card.ip_models import HOST_BASE

SIZES = BoardRegistersParams(cages=1, hbm=True, pauses=True)  #: of a SNIC's board


class CardSnic(SnicDriver):
    """Drives a SNIC on a card; the host's memory is behind the bridge, at ``base``."""

    base = HOST_BASE

    def __init__(self, card: Any, params: SnicParams) -> None:
        self.pcie: Any = Pcie(card)
        super().__init__(self.pcie, params, Bar(self.pcie))
        self.board = BoardDriver(self.axil, SIZES)

    async def next_completion(self, interrupts: Any = None, index: int = 0) -> Completion:
        """Wait for a completion as a driver does: look, and sleep until an interrupt."""
        while True:
            seen = self.pcie.messages
            if await self.read("completion_valid"):
                return await self.completion()
            await self.pcie.interrupt(seen, MOST_US)


class CardBlockSnic(BlockCard, CardSnic):
    """Drives a SNIC on a card with the bare block, whose host's memory is a root complex's."""

    driver = SnicDriver

    def __init__(self, card: Any, params: SnicParams, content: bytes) -> None:
        BlockCard.__init__(self, card, params)
        self.memory, self.base = self.pcie.model.memory(content)

    def sizes(self) -> BoardRegistersParams:
        """Return the sizes of the board's registers."""
        return SIZES


class CardSwitch(BlockCard, SwitchDriver):
    """Drives NetSparse's switch on a card."""

    driver = SwitchDriver
    pauses = True
