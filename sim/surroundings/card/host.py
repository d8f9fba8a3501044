"""Simulates the host of a card: its BAR, its DMA, its interrupts."""

from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer, with_timeout
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

from hdl.netsparse.params import SnicParams
from hdl.p4sgd.host.registers import worker_registers
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.registers import endpoint_registers
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie import MODEL_BASE
from hdl.u280.registers import BASE, BoardRegistersParams, board_registers
from hdl.u280.switchgnn_endpoint_board import FEATURES, SUMS, TABLES
from sim.harness.register_driver import BusError, RegisterDriver, quiet
from sim.netsparse.driver import SnicDriver
from sim.netsparse.switch_driver import SwitchDriver as NetSparseSwitchDriver
from sim.netsparse.work_request import Completion
from sim.p4sgd.cluster_driver import ClusterDriver
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.switch_driver import SwitchDriver
from sim.p4sgd.worker_driver import WorkerDriver
from sim.surroundings.card.block_host import BlockHost
from sim.surroundings.card.cards import CLOCKS
from sim.surroundings.card.ip_models import HOST_BASE
from sim.switchgnn.network.cluster import ClusterParams as EndpointsParams
from sim.switchgnn.network.worker_host import WorkerHost
from sim.switchgnn.switch_driver import GnnSwitchDriver

WORD_BYTES = 4
MOST_US = 200  #: most time that a run takes here
START_NS = 5000  #: time until everything on a card has started


class Pcie:
    """Drives a card's PCI Express from the host's side: buses of its IP, their clock and reset."""

    def __init__(self, card: Any) -> None:
        self.ip = card.pcie.ip
        self.clk = self.ip.core.ahead
        self.rst = self.ip.core.reset
        self._name = f"{card._name}.pcie.ip"
        self.names = dir(self.ip)

    def __getattr__(self, name: str) -> Any:
        """Return a signal of the IP, or the one by which the host drives it."""
        said = f"{name}_said"
        return getattr(self.ip, said if said in self.names else name)

    def __dir__(self) -> list[str]:
        return [name.removesuffix("_said") for name in self.names]

    @property
    def messages(self) -> int:
        """Count the interrupts that have come so far."""
        return int(self.ip.core.messages.value)

    async def interrupt(self, since: int, timeout_us: int) -> None:
        """Wait until more than ``since`` interrupts have come."""

        async def come() -> None:
            while self.messages <= since:
                await self.ip.core.messages.value_change

        await with_timeout(cocotb.start_soon(come()), timeout_us, "us")


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


class DmaCard:
    """Is a card whose memory the host reaches by DMA."""

    def __init__(self, pcie: Pcie) -> None:
        self.dma = AxiMaster(AxiBus.from_prefix(pcie, "m_axi"), pcie.clk, pcie.rst)
        quiet(pcie, "m_axi")

    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes to HBM by DMA."""
        answer: Any = await self.dma.write(address, data)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"writing HBM at {address:#x} answered {answer.resp.name}")

    async def read_memory(self, address: int, length: int) -> bytes:
        """Read bytes of HBM by DMA."""
        answer: Any = await self.dma.read(address, length)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"reading HBM at {address:#x} answered {answer.resp.name}")
        return bytes(answer.data)


class CardWorker(WorkerDriver, DmaCard):
    """Drives a worker on a card: registers through the BAR, weights and memory by DMA."""

    def __init__(self, card: Any, params: Any) -> None:
        self.pcie = pcie = Pcie(card)
        RegisterDriver.__init__(self, pcie, "m_axil", worker_registers(params))
        DmaCard.__init__(self, pcie)
        self.params = params
        self.model = Shifted(self.dma, MODEL_BASE)
        self.board = BoardDriver(self.axil, BoardRegistersParams(cages=1, hbm=True))

    async def run(self) -> None:
        """Start a run and wait for the interrupt at its end; raise ``WorkerFailure`` on failure."""
        before = self.pcie.messages
        await self.write(start=1)
        await self.board.write(interrupt_enable=1)
        await self.pcie.interrupt(before, MOST_US)
        await self.board.write(interrupt_enable=0)
        assert not await self.read("busy"), "an interrupt came while the worker was busy"
        await self.check()


class BlockCard:
    """Is a card with the bare block; make one before any time has passed, and :meth:`begin` it."""

    board: BoardDriver

    def __init__(self, card: Any, params: Any) -> None:
        self.pcie: Any = BlockHost(card.pcie.block.ip)
        self.params = params

    async def begin(self) -> None:
        """Let the host find the card."""
        self.reach(await self.pcie.begin())

    def reach(self, bar: Any) -> None:
        """Use what the host has found."""
        raise NotImplementedError


class CardSwitch(BlockCard, SwitchDriver):
    """Drives a switch on a card."""

    def reach(self, bar: Any) -> None:
        """Use what the host has found."""
        params = self.params
        SwitchDriver.__init__(self, self.pcie.signals, params, bar)
        self.board = BoardDriver(bar, BoardRegistersParams(cages=params.ports, hbm=False))


class CardSnic(SnicDriver):
    """Drives a SNIC on a card; the host's memory is behind the bridge, at ``base``."""

    base = HOST_BASE

    def __init__(self, card: Any, params: SnicParams) -> None:
        self.pcie: Any = Pcie(card)
        super().__init__(self.pcie, params, Bar(self.pcie))
        self.board = BoardDriver(self.axil, BoardRegistersParams(cages=1, hbm=True, pauses=True))

    async def next_completion(self, interrupts: Any = None, index: int = 0) -> Completion:
        """Wait for a completion as a driver does: look, and sleep until an interrupt."""
        while True:
            seen = self.pcie.messages
            if await self.read("completion_valid"):
                return await self.completion()
            await self.pcie.interrupt(seen, MOST_US)


class CardBlockSnic(BlockCard, CardSnic):
    """Drives a SNIC on a card with the bare block, whose host's memory is a root complex's."""

    def __init__(self, card: Any, params: SnicParams, content: bytes) -> None:
        BlockCard.__init__(self, card, params)
        self.memory, self.base = self.pcie.model.memory(content)

    def reach(self, bar: Any) -> None:
        """Use what the host has found."""
        SnicDriver.__init__(self, self.pcie.signals, self.params, bar)
        self.board = BoardDriver(bar, BoardRegistersParams(cages=1, hbm=True, pauses=True))


class CardNetSparseSwitch(BlockCard, NetSparseSwitchDriver):
    """Drives NetSparse's switch on a card."""

    def reach(self, bar: Any) -> None:
        """Use what the host has found."""
        params = self.params
        NetSparseSwitchDriver.__init__(self, self.pcie.signals, params, bar)
        sizes = BoardRegistersParams(cages=params.ports, hbm=False, pauses=True)
        self.board = BoardDriver(bar, sizes)


class CardGnnSwitch(BlockCard, GnnSwitchDriver):
    """Drives SwitchGNN's switch on a card, with tables on chip."""

    def reach(self, bar: Any) -> None:
        """Use what the host has found."""
        params = self.params
        GnnSwitchDriver.__init__(self, self.pcie.signals, params, bar)
        self.board = BoardDriver(bar, BoardRegistersParams(cages=params.ports, hbm=False))


class CardEndpoint(WorkerHost, DmaCard):
    """Drives SwitchGNN's endpoint on a card: registers through the BAR, memory by DMA.

    Features and sums have the same addresses, in the parts of HBM of their ports.
    """

    def __init__(self, card: Any, port: int, params: EndpointParams) -> None:
        self.pcie = Pcie(card)
        registers = RegisterDriver(self.pcie, "m_axil", endpoint_registers(params))
        self.use(registers, port, EndpointsParams(endpoint=params, workers=1))
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


class CardCluster(ClusterDriver):
    """Drives workers on cards around a switch on another card."""

    def __init__(
        self, workers: Sequence[CardWorker], switch: CardSwitch, params: ClusterParams
    ) -> None:
        self.workers, self.switch, self.params = list(workers), switch, params
        self.epoch = 0


async def switch_on(dut: Any, *found: Any) -> Sequence[Any]:
    """Start the clocks, end PCI Express's reset, and return the cards once they have started.

    ``found`` are those that a host must find meanwhile (:class:`BlockCard`).
    """
    finding = [cocotb.start_soon(card.begin()) for card in found]
    for name, period in CLOCKS.items():
        Clock(getattr(dut, name), period, unit="ps", impl="gpi").start()
    dut.reset_n.value = 0
    await Timer(500, "ns")
    dut.reset_n.value = 1
    await Timer(START_NS, "ns")
    for card in finding:
        await card
    return [getattr(dut, f"card_{k}") for k in range(len(dut.cattrip))]
