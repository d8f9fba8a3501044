"""Describes what the boards of all switches share: a port at each cage, and registers."""

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module

from hdl.u280.axi_wires import connect_bus
from hdl.u280.board import Board
from hdl.u280.cmac_ip import CAGES
from hdl.u280.hbm import Hbm
from hdl.u280.pcie import PcieDma, PcieParams
from hdl.u280.pcie_block import PcieStreams


class CagesBoard(Board):
    """Places a switch whose port k is the card's cage k; a top names the switch and its streams.

    The ``flow`` of packets at the cages' MACs says which classes are paused apart
    (:class:`hdl.u280.mac.Mac`): NetSparse's, which have ``streams`` of their own, or priorities,
    which the switch holds and pauses by its ports ``paused`` and ``pause``; its port ``down`` says
    which cages have no link. Such a switch must have room for what a MAC still has for it then
    (:meth:`headrooms`). There is no interrupt, and HBM only if a top has a use for it. The host
    reaches registers by the bare block and our completer, or HBM too, by XDMA.
    """

    switch: type[Any]
    resets_with_host = False
    streams: Sequence[str] = ("axis",)  #: names of the streams by class, without ``s_`` and ``m_``
    flow = "none"  #: classes that are paused apart, one of hdl.u280.mac_signals.FLOWS

    def __init__(self, params: Any) -> None:
        if params.ports != CAGES:
            raise ValueError(
                f"ports must be {CAGES} on this board, which has as many cages: {params.ports}"
            )
        registers = self.switch.register_map(params)
        sizes = PcieParams(register_bits=registers.address_bits)
        memory = self.memory_of(params)
        link = PcieDma(sizes) if memory else PcieStreams(sizes)
        super().__init__(params, link, range(CAGES), flow=self.flow, memory=memory)
        for name, headroom in self.headrooms(params).items():
            if headroom < (least := self.cages[0].link.behind):
                raise ValueError(
                    f"{name} must be at least {least} on this board, as so many beats may come"
                    f" after a pause was requested: {headroom}"
                )

    def headrooms(self, params: Any) -> Mapping[str, int]:
        """Return the beats that the switch takes after it has requested a pause, by parameter."""
        return {}

    def memory_of(self, params: Any) -> Hbm | None:
        """Return the ports of HBM that the switch uses, if any; the host then reaches it by DMA."""
        return None

    def connect_memory(self, m: Module, core: Any) -> None:
        """Connect the ports of :meth:`memory_of` to ``core``."""

    def build(self, m: Module) -> None:
        self.begin(m)
        m.submodules.core = core = self.switch(self.params)
        macs = [self.add_cage(m, cage) for cage in self.cages]
        for k, mac in enumerate(macs):
            for number, name in enumerate(self.streams):
                self.send(m, mac, number, getattr(core, f"m_{name}")[k])
            for number, name in enumerate(self.streams):
                self.take(m, mac, number, getattr(core, f"s_{name}")[k])
            if mac.params.held:
                self.hold(m, mac, core.pause[k], core.paused[k])
        connect_bus(m, self.of_link(m, "registers_0"), core.s_axil)
        if isinstance(self.link, PcieStreams):
            function = self.link.function
            m.d.comb += function.done.eq(function.in_process)  # a switch sends the host nothing
        self.connect_memory(m, core)
        status = self.add_status(m, macs)
        if self.flow == "priorities":
            m.d.comb += core.down.eq(Cat(~each.status.linked for each in status.levels))
