"""Drives a gather engine on a simulated card: host memory by the bare block, rows in HBM."""

from typing import Any

from cocotb.triggers import ClockCycles

from hdl.gather.engine_params import GatherEngineParams
from sim.gather.card_driver import CardDriver
from sim.gather.surroundings.card_system import CardParams
from sim.surroundings.card.block_host import BlockHost

WORD_BYTES = 32  #: of HBM
PEEK_CYCLES = 8  #: core cycles in which HBM's clock, by which a word is read, has an edge or two


class CardGather(CardDriver):
    """Submits work requests to an engine on a card, and looks at the rows that came.

    Make one before any time has passed, and call :meth:`begin` at once.
    """

    def __init__(self, card: Any, params: GatherEngineParams, host: bytes) -> None:
        self.pcie = BlockHost(card.pcie.ip)
        self.dut, self.hbm = self.pcie.signals, card.memory.ip
        self.params = CardParams(engine=params)
        self.model = self.pcie.model
        self.memory, self.base = self.model.memory(host)

    async def begin(self, read_size: int = 2, payload: int = 1) -> None:
        """Let the host find the card; sizes are codes of the largest: 128 bytes << code."""
        bar = await self.pcie.begin(read_size, payload)
        self.drive(bar)

    async def device(self, start: int, size: int) -> bytes:
        """Return bytes of HBM; those that were never written are zero."""
        first, last = start // WORD_BYTES, (start + size - 1) // WORD_BYTES
        content = b""
        for word in range(first, last + 1):
            self.hbm.peek.value = word
            await ClockCycles(self.dut.clk, PEEK_CYCLES)
            content += int(self.hbm.peeked.value).to_bytes(WORD_BYTES, "little")
        skip = start - first * WORD_BYTES
        return content[skip : skip + size]
