"""Simulates the host of a card: its BAR, its DMA, its interrupts."""

from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer
from cocotbext.axi import AxiBus, AxiMaster

from hdl.u280.registers import BASE, BoardRegistersParams, board_registers
from sim.harness.host_device import BusMemory
from sim.harness.register_driver import RegisterDriver, quiet
from sim.surroundings.card.block_host import BlockHost, Interrupts
from sim.surroundings.card.cards import CLOCKS

WORD_BYTES = 4
MAX_US = 200  #: most time that a run takes in a simulation of cards
START_NS = 5000  #: time until everything on a card has started


class Pcie(Interrupts):
    """Drives a card's PCI Express from the host's side: buses of its IP, their clock and reset."""

    def __init__(self, card: Any) -> None:
        self.ip = card.pcie.ip
        self.core = self.ip.core
        self.clk, self.rst = self.core.ahead, self.core.reset
        self._name = f"{card._name}.pcie.ip"
        self.names = dir(self.ip)

    def __getattr__(self, name: str) -> Any:
        """Return a signal of the IP, or the one by which the host drives it."""
        said = f"{name}_said"
        return getattr(self.ip, said if said in self.names else name)

    def __dir__(self) -> list[str]:
        return [name.removesuffix("_said") for name in self.names]


class Bar:
    """Accesses a bridge's BAR 0 as the host's processor does: a word at a time.

    A request of one word is a beat of four bytes on the bridge's wide master.
    """

    def __init__(self, pcie: Pcie) -> None:
        self.master = AxiMaster(AxiBus.from_prefix(pcie, "m_axib"), pcie.clk, pcie.rst)
        quiet(pcie, "m_axib")

    async def write(self, address: int, data: bytes) -> Any:
        """Write words one by one; return the last answer."""
        answer = None
        for at in range(0, len(data), WORD_BYTES):
            answer = await self.master.write(address + at, data[at : at + WORD_BYTES], size=2)
        return answer

    async def read(self, address: int, length: int) -> Any:
        """Read words one by one; return the last answer with the data of all."""
        data, answer = b"", None
        for at in range(0, length, WORD_BYTES):
            answer: Any = await self.master.read(address + at, WORD_BYTES, size=2)
            data += bytes(answer.data)
        return answer._replace(data=data)


class Shifted:
    """Is a master whose addresses begin at an offset."""

    def __init__(self, master: Any, base: int) -> None:
        self.master, self.base = master, base

    async def write(self, address: int, data: bytes) -> Any:
        """Write through the master, at an address behind the offset."""
        return await self.master.write(self.base + address, data)

    async def read(self, address: int, length: int) -> Any:
        """Read through the master, at an address behind the offset."""
        return await self.master.read(self.base + address, length)


class BoardDriver(RegisterDriver):
    """Drives the registers of the card itself, through a master of the BAR."""

    def __init__(self, bar: Any, sizes: BoardRegistersParams) -> None:
        super().__init__(None, Shifted(bar, BASE), board_registers(sizes))


class DmaCard(BusMemory):
    """Is a card whose memory the host reaches by DMA."""

    def __init__(self, pcie: Pcie) -> None:
        super().__init__(AxiMaster(AxiBus.from_prefix(pcie, "m_axi"), pcie.clk, pcie.rst))
        quiet(pcie, "m_axi")


class BlockCard:
    """Is a card with the bare block; make one before any time has passed, and :meth:`begin` it."""

    driver: Any  #: class of the driver, another base of the card
    flow = "none"  #: classes that are paused apart, of which the board has registers
    board: BoardDriver

    def __init__(self, card: Any, params: Any) -> None:
        self.pcie: Any = BlockHost(card.pcie.block.ip)
        self.params = params

    async def begin(self) -> None:
        """Let the host find the card."""
        bar = await self.pcie.begin()
        self.drive(bar)
        self.board = BoardDriver(bar, self.sizes())

    def drive(self, bar: Any) -> None:
        """Drive the card through ``bar``, which reaches its registers."""
        self.driver.__init__(self, self.pcie.signals, self.params, bar)

    def sizes(self) -> BoardRegistersParams:
        """Return the sizes of the board's registers: here those of a switch."""
        return BoardRegistersParams(cages=self.params.ports, hbm=False, flow=self.flow)


async def switch_on(dut: Any, *result: Any) -> Sequence[Any]:
    """Start the clocks, end PCI Express's reset, and return the cards once they have started.

    ``result`` are those that a host must find meanwhile (:class:`BlockCard`).
    """
    finding = [cocotb.start_soon(card.begin()) for card in result]
    for name, period in CLOCKS.items():
        Clock(getattr(dut, name), period, unit="ps", impl="gpi").start()
    dut.reset_n.value = 0
    await Timer(500, "ns")
    dut.reset_n.value = 1
    await Timer(START_NS, "ns")
    for card in finding:
        await card
    return [getattr(dut, f"card_{k}") for k in range(len(dut.cattrip))]
