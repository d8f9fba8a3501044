"""Drives workers and their switch on simulated cards, as the cards' hosts do."""

from collections.abc import Sequence
from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from hdl.u280.registers import BoardRegistersParams
from hdl.u280.worker_board import host_addresses
from sim.harness.host_program import HostProgram
from sim.harness.register_driver import quiet
from sim.p4sgd.cluster_driver import ClusterDriver
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.switch_side import switch_side
from sim.p4sgd.worker_driver import WorkerDriver
from sim.surroundings.card.host import MAX_US, BlockCard, BoardDriver, DmaCard, Pcie


class CardWorker(WorkerDriver, DmaCard):
    """Drives a worker on a card: registers through the BAR, weights and memory by DMA."""

    def __init__(self, card: Any, params: Any) -> None:
        self.pcie = pcie = Pcie(card)
        DmaCard.__init__(self, pcie)
        bar = AxiLiteMaster(AxiLiteBus.from_prefix(pcie, "m_axil"), pcie.clk, pcie.rst)
        quiet(pcie, "m_axil")
        WorkerDriver.__init__(self, pcie, params, bar=bar, memory=self, card=host_addresses(params))
        self.board = BoardDriver(bar, BoardRegistersParams(cages=1, hbm=True))

    async def train(self) -> None:
        """Start a run and wait for the interrupt at its end; raise ``WorkerStopped`` on failure."""
        before = self.pcie.messages
        await self.write(start=1)
        await self.board.write(interrupt_enable=1)
        await self.pcie.interrupt(before, MAX_US)
        await self.board.write(interrupt_enable=0)
        assert not await self.read("busy"), "an interrupt came while the worker was busy"
        await self.check()


class CardSwitch(BlockCard, HostProgram):
    """Drives a switch on a card."""

    def drive(self, bar: Any) -> None:
        """Drive the switch through ``bar``."""
        HostProgram.__init__(self, self.pcie.signals, bar, switch_side(self.params))


class CardCluster(ClusterDriver):
    """Drives workers on cards around a switch on another card."""

    def __init__(
        self, workers: Sequence[CardWorker], switch: CardSwitch, params: ClusterParams
    ) -> None:
        self.workers, self.switch, self.params = list(workers), switch, params
        self.epoch, self.numbers = 0, range(len(workers))
