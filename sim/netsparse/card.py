"""Drives SNICs and their switch on simulated cards, as the cards' hosts do."""

from typing import Any

from hdl.netsparse.params import SnicParams
from hdl.u280.registers import BoardRegistersParams
from sim.harness.host_program import HostProgram
from sim.netsparse.snic_program import SnicProgram
from sim.netsparse.switch_side import switch_side
from sim.surroundings.card.host import MAX_US, Bar, BlockCard, BoardDriver, Pcie
from sim.surroundings.card.ip_models import HOST_BASE

SIZES = BoardRegistersParams(cages=1, hbm=True, flow="kinds")  #: of a SNIC's board


class CardSnic(SnicProgram):
    """Drives a SNIC on a card; the host's memory is behind the bridge, at ``base``."""

    base = HOST_BASE

    def __init__(self, card: Any, params: SnicParams) -> None:
        self.pcie: Any = Pcie(card)
        super().__init__(self.pcie, params, Bar(self.pcie))
        self.board = BoardDriver(self.axil, SIZES)
        self.seen = 0  #: interrupts that were waited for

    async def interrupt(self) -> None:
        """Sleep until an interrupt, also one since the last time."""
        await self.pcie.interrupt(self.seen, MAX_US)
        self.seen = self.pcie.messages


class CardBlockSnic(BlockCard, CardSnic):
    """Drives a SNIC on a card with the bare block, whose host's memory is a root complex's."""

    def __init__(self, card: Any, params: SnicParams, content: bytes) -> None:
        BlockCard.__init__(self, card, params)
        self.memory, self.base = self.pcie.model.memory(content)
        self.seen = 0

    def drive(self, bar: Any) -> None:
        """Drive the SNIC through ``bar``."""
        SnicProgram.__init__(self, self.pcie.signals, self.params, bar)

    def sizes(self) -> BoardRegistersParams:
        """Return the sizes of the board's registers."""
        return SIZES


class CardSwitch(BlockCard, HostProgram):
    """Drives NetSparse's switch on a card."""

    flow = "kinds"

    def drive(self, bar: Any) -> None:
        """Drive the switch through ``bar``."""
        HostProgram.__init__(self, self.pcie.signals, bar, switch_side(self.params))
