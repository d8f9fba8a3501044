"""The board's registers and counters."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.crossing.count_crossing import WAITING_BITS
from hdl.common.register_block import RegisterBlock
from hdl.u280.hbm import STACKS, TEMPERATURE_BITS
from hdl.u280.mac import EVENTS
from hdl.u280.registers import (
    ADDRESS_BITS,
    COUNT_BITS,
    IDENTITY,
    VERSION,
    BoardRegistersParams,
    board_registers,
)


class BoardStatus(Component):
    """Shows the host what the board does (:func:`board_registers`), through ``axil``.

    ``counts`` of each cage, in the order of EVENTS, are added up in every cycle. ``irq`` is
    ``request`` where the host has enabled it.
    """

    register_map = staticmethod(board_registers)

    def __init__(self, params: BoardRegistersParams) -> None:
        self.registers = board_registers(params)
        super().__init__(
            params,
            {
                "axil": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
                "links": In(1).array(params.cages),
                "memory_ready": In(1),
                "temperature": In(TEMPERATURE_BITS).array(STACKS),
                "counts": In(WAITING_BITS).array(params.cages, len(EVENTS)),
                "request": In(1),
                "irq": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.registers = registers = RegisterBlock(self.registers)
        connect(m, flipped(self.axil), registers.axil)
        control, status = registers.control, registers.status
        m.d.comb += [
            status.board.eq(IDENTITY),
            status.board_version.eq(VERSION),
            status.memory_ready.eq(self.memory_ready),
            status.interrupt_request.eq(self.request),
            *(status.links[k].eq(link) for k, link in enumerate(self.links)),
        ]
        m.d.sync += self.irq.eq(self.request & control.interrupt_enable)
        if self.params.hbm:
            m.d.comb += [
                status[f"degrees_{k}"].eq(degrees) for k, degrees in enumerate(self.temperature)
            ]
        for k, counts in enumerate(self.counts):
            for name, more in zip(EVENTS, counts, strict=True):
                count = Signal(COUNT_BITS, name=f"{name}_{k}")
                m.d.sync += count.eq(count + more)
                with m.If(control.clear_losses):
                    m.d.sync += count.eq(0)
                m.d.comb += status[f"{name}_{k}"].eq(count)
        return m
